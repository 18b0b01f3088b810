package cline

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/testkit/installtest"
)

// The places of a project at which its author can put a link.
var clineLinks = []string{".clinerules", ".clinerules/hooks", ".cline", ".cline/hooks", ".clinerules/hooks/.hookspan-chained"}

func TestPlanRefusesLinksInProject(t *testing.T) {
	for _, at := range clineLinks {
		h := newHome(t, "linux", "-")
		installtest.Write(t, h.path("elsewhere/README"), "", 0o644)
		installtest.Link(t, h.path("elsewhere"), h.path("project/"+at))
		o := h.options()
		o.Project = h.path("project")
		before := tree(t, h.dir)
		if _, err := h.in.Plan(t.Context(), h.sys, o); !errors.Is(err, install.ErrThroughLink) || !strings.Contains(err.Error(), filepath.FromSlash(at)) {
			t.Errorf("%s: error %v, want one that names the link", at, err)
		}
		installtest.Same(t, at, before, tree(t, h.dir))
	}
}

func TestApplyRefusesNewLink(t *testing.T) {
	h := newHome(t, "linux", "-")
	o := h.options()
	o.Project = h.path("project")
	installtest.Write(t, h.path("elsewhere/README"), "", 0o644)
	installtest.Write(t, h.path("project/README"), "", 0o644)
	p := h.plan(o)
	installtest.Link(t, h.path("elsewhere"), h.path("project/.clinerules"))
	if err := install.Apply(p); !errors.Is(err, install.ErrThroughLink) {
		t.Errorf("error %v, want %v", err, install.ErrThroughLink)
	}
	if n := len(tree(t, h.path("elsewhere"))); n > 2 {
		t.Errorf("%d files and folders behind the link", n)
	}
}

func TestUninstallRefusesLinkInProject(t *testing.T) {
	h := newHome(t, "linux", "-")
	user, project := h.options(), h.options()
	project.Project = h.path("project")
	installtest.Write(t, h.path("project/README"), "", 0o644)
	h.install(user)
	h.install(project)
	// The project's author has its folder lead to the user's own hooks.
	if err := os.RemoveAll(h.path("project/.clinerules")); err != nil {
		t.Fatal(err)
	}
	installtest.Link(t, h.path("Documents/Cline"), h.path("project/.clinerules"))
	if err := os.Rename(h.path("Documents/Cline/Hooks"), h.path("Documents/Cline/hooks")); err != nil {
		t.Fatal(err)
	}
	before := tree(t, h.path("Documents"))
	if _, err := h.in.PlanUninstall(t.Context(), h.sys, install.Options{Project: project.Project}); !errors.Is(err, install.ErrThroughLink) {
		t.Errorf("error %v, want %v", err, install.ErrThroughLink)
	}
	p := h.uninstall(install.Options{})
	if !strings.Contains(p.Text(), "is a symbolic link") {
		t.Errorf("the link is not named:\n%s", p.Text())
	}
	installtest.Same(t, "behind the link", before, tree(t, h.path("Documents")))
}
