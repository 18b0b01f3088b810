package cline

import (
	"context"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/testkit/installtest"
	"github.com/hookspan/hookspan/internal/testkit/skip"
)

// home is a user's home folder in a temporary place.
type home struct {
	t   *testing.T
	dir string
	sys install.System
	in  Installer
	env map[string]string
}

// newHome makes a home with a hook program in it. documents is the system's
// answer, relative to the home; "-" is a system that has none.
func newHome(t *testing.T, goos, documents string) *home {
	t.Helper()
	if runtime.GOOS == "windows" && goos != "windows" {
		skip.Missing(t, "files have no POSIX modes on Windows, which these hooks need")
	}
	h := &home{t: t, dir: filepath.Join(t.TempDir(), "home"), env: map[string]string{}}
	h.sys = install.System{
		GOOS: goos, Home: h.dir, StateDir: h.path(".local/state/hookspan"),
		Getenv: func(name string) string { return h.env[name] },
	}
	h.in.DocumentsDir = func(context.Context) (string, error) {
		if documents == "-" {
			return "", nil
		}
		return h.path(documents), nil
	}
	fakeHook(t, h.binary())
	return h
}

func (h *home) path(rel string) string { return filepath.Join(h.dir, filepath.FromSlash(rel)) }

func (h *home) binary() string { return h.path("bin/cline-hook") }

func (h *home) options() install.Options { return install.Options{Binary: h.binary()} }

func (h *home) plan(o install.Options) *install.Plan {
	h.t.Helper()
	p, err := h.in.Plan(h.t.Context(), h.sys, o)
	if err != nil {
		h.t.Fatalf("plan: %v", err)
	}
	return p
}

func (h *home) install(o install.Options) *install.Plan {
	h.t.Helper()
	return installtest.Do(h.t, h.in.Plan, h.sys, o)
}

func (h *home) uninstall(o install.Options) *install.Plan {
	h.t.Helper()
	return installtest.Do(h.t, h.in.PlanUninstall, h.sys, o)
}

// tree lists everything below dir, with the times of files.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	return installtest.Tree(t, dir, true)
}

// hooks lists the hookspan hook files below dir.
func hooks(t *testing.T, dir string) []string {
	t.Helper()
	list := []string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if strings.Contains(installtest.Read(t, path), markerPrefix) {
			rel, err := filepath.Rel(dir, path)
			list = append(list, filepath.ToSlash(rel))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// find returns the one action on a path.
func find(t *testing.T, p *install.Plan, path string) install.Action {
	t.Helper()
	for _, a := range p.Actions {
		if a.Path == path {
			return a
		}
	}
	t.Fatalf("no action on %q in:\n%s", path, p.Text())
	return install.Action{}
}
