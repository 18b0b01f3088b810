package settings

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/testkit/installtest"
)

func TestPlanRefusesLinksInProject(t *testing.T) {
	for _, at := range []string{".agent", ".agent/settings.json", ".agent/settings.local.json"} {
		h := newHome(t, newVersion)
		target := h.path("elsewhere")
		installtest.Write(t, h.path("elsewhere/settings.json"), "{}\n", 0o644)
		if at != ".agent" {
			target = h.path("elsewhere/settings.json")
		}
		o := h.options(install.ScopeLocal)
		if at == ".agent/settings.json" {
			o = h.options(install.ScopeProject)
		}
		if err := os.RemoveAll(filepath.Join(o.Dir, ".agent")); err != nil {
			t.Fatal(err)
		}
		installtest.Link(t, target, filepath.Join(o.Dir, filepath.FromSlash(at)))
		before := installtest.Tree(t, h.dir, true)
		if _, err := h.in.Plan(t.Context(), h.sys, o); !errors.Is(err, install.ErrThroughLink) || !strings.Contains(err.Error(), filepath.FromSlash(at)) {
			t.Errorf("%s: error %v, want one that names the link", at, err)
		}
		installtest.Same(t, at, before, installtest.Tree(t, h.dir, true))
	}
}
