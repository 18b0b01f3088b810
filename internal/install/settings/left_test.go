package settings

import (
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/testkit/installtest"
)

// TestLeftCopiesGo has hidden copies of the settings that a killed install has left: a
// status names them, and the next install or uninstall removes them, whether it has
// anything else to do or not. Files of other names stay.
func TestLeftCopiesGo(t *testing.T) {
	const left = ".agent/.hookspan-settings.json-ABCDEFGHIJKLMNOPQRSTUVWXYZ.tmp"
	const backup = ".agent/.hookspan-settings.json.hookspan-backup-ABCDEFGHIJKLMNOPQRSTUVWXYZ.tmp"
	const users = ".agent/.hookspan-notes.tmp"
	for name, tt := range map[string]struct{ installed, undo bool }{
		"install": {false, false}, "another install": {true, false}, "uninstall": {true, true}, "uninstall of nothing": {false, true},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t, newVersion)
			installtest.Write(t, h.path("src/project/x"), "", 0o600)
			installtest.Write(t, h.path(".agent/settings.json"), "{}\n", 0o600)
			if tt.installed {
				h.install(h.options(install.ScopeUser))
			}
			for _, path := range []string{left, backup, users} {
				installtest.Write(t, h.path(path), `{"key":"secret"}`, 0o600)
			}
			if text := h.status().Text(); strings.Count(text, "a killed install has left") != 2 {
				t.Errorf("status says\n%s", text)
			}
			if tt.undo {
				h.uninstall(install.Options{})
			} else {
				h.install(h.options(install.ScopeUser))
			}
			for path, stays := range map[string]bool{left: false, backup: false, users: true} {
				if install.FileExists(h.path(path)) != stays {
					t.Errorf("%s: there %t, want %t", path, !stays, stays)
				}
			}
		})
	}
}
