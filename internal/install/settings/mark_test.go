package settings

import (
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/jsonedit"
	"github.com/hookspan/hookspan/internal/testkit/installtest"
)

// TestByteOrderMark has settings with a mark, for agents that read them and that do not.
func TestByteOrderMark(t *testing.T) {
	for name, noMark := range map[string]bool{"read": false, "not read": true} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t, newVersion)
			h.in.Spec.NoMark = noMark
			path := h.path(".agent/settings.json")
			installtest.Write(t, h.path("src/project/x"), "", 0o600)
			installtest.Write(t, path, jsonedit.ByteOrderMark+"{}\n", 0o600)
			_, err := h.in.Plan(t.Context(), h.sys, h.options(install.ScopeUser))
			if refused := err != nil && strings.Contains(err.Error(), "byte order mark"); refused != noMark {
				t.Errorf("error %v", err)
			}
			// A mark that came after the install.
			installtest.Write(t, path, "{}\n", 0o600)
			h.install(h.options(install.ScopeUser))
			installtest.Write(t, path, jsonedit.ByteOrderMark+installtest.Read(t, path), 0o600)
			if r := h.status(); r.Healthy() == noMark || strings.Contains(r.Text(), "byte order mark") != noMark {
				t.Errorf("status:\n%s", r.Text())
			}
			h.uninstall(install.Options{})
			if strings.Contains(installtest.Read(t, path), "claude-hook") {
				t.Error("hooks stay")
			}
		})
	}
}
