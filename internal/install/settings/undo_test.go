package settings

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/testkit/installtest"
)

// TestUninstallTakesEditedLines edits the line of an entry: what only starts hookspan's
// program goes, what starts more stays and is named.
func TestUninstallTakesEditedLines(t *testing.T) {
	for name, tt := range map[string]struct {
		old, new string
		stays    bool
	}{
		"other log":         {"2>/dev/null || cat >/dev/null", "2>>/tmp/hook.log || true", false},
		"both outputs":      {"2>/dev/null || cat >/dev/null", ">/dev/null 2>&1", false},
		"file after blank":  {"2>/dev/null || cat >/dev/null", "2> /tmp/x", false},
		"no ending":         {" 2>/dev/null || cat >/dev/null", "", false},
		"another's guard":   {"2>/dev/null || cat >/dev/null", "&& /opt/corp/guard", true},
		"guard on failure":  {"|| cat >/dev/null", "|| /opt/corp/guard", true},
		"in the background": {"2>/dev/null || cat >/dev/null", "2>/dev/null &", true},
		"flags":             {"SessionStart 2>/dev/null || cat >/dev/null", "--port 3043", true},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t, newVersion)
			path := h.path(".agent/settings.json")
			h.install(h.options(install.ScopeUser))
			text := installtest.Read(t, path)
			edited := strings.Replace(text, tt.old, tt.new, 1)
			if edited == text {
				t.Fatal("nothing was edited")
			}
			installtest.Write(t, path, edited, 0o600)
			p := h.uninstall(install.Options{})
			if stays := len(p.Stays) > 0; stays != tt.stays || install.FileExists(path) != tt.stays {
				t.Errorf("named %q, the file is there: %t; should stay: %t", p.Stays, install.FileExists(path), tt.stays)
			}
		})
	}
}

// TestUninstallThroughALinkKeepsItsTarget has settings that an install created, and that the
// user has moved and linked since.
func TestUninstallThroughALinkKeepsItsTarget(t *testing.T) {
	h := newHome(t, newVersion)
	path, target := h.path(".agent/settings.json"), h.path("dotfiles/settings.json")
	h.install(h.options(install.ScopeUser))
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, target); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
	h.uninstall(install.Options{})
	if got := strings.TrimSpace(installtest.Read(t, target)); got != "{}" || !install.IsLink(path) {
		t.Errorf("the target has %q", got)
	}
}
