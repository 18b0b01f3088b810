package settings

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/skip"
)

// home is a user's home folder in a temporary place.
type home struct {
	t   *testing.T
	dir string
	sys install.System
	in  Installer
	env map[string]string
}

// testAgent is an agent whose version decides about its events and whether a shell
// reads its commands.
func testAgent() *Spec {
	return &Spec{
		Name: "Test Agent", RecordName: "test", Folder: ".agent", HomeVariable: "AGENT_HOME",
		File: "settings.json", LocalFile: "settings.local.json",
		Scopes:      []string{install.ScopeUser, install.ScopeProject, install.ScopeLocal},
		ManagedFile: "managed-settings.json", ManagedPattern: "managed-settings.d/*.json",
		Events: []Event{
			{Name: "SessionStart"},
			{Name: "UserPromptSubmit"},
			{Name: "PreToolUse"},
			{Name: "PostToolUse"},
			{Name: "PostCompact", Since: Version{2, 1, 76}},
			{Name: "PostModelSwitch", Since: Version{2, 1, 251}},
			{Name: "TaskCreated", Since: Version{2, 1, 84}},
			{Name: "Stop"},
			{Name: "StopFailure", Since: Version{2, 1, 78}},
			{Name: "SessionEnd"},
		},
		ExecSince: Version{2, 1, 139},
		Off:       func(_ install.System, files []File) []string { return DisableAllHooks("Test Agent", files) },
	}
}

// newHome makes a home with claude-hook in it and a test agent of a version.
func newHome(t *testing.T, version string) *home {
	t.Helper()
	if runtime.GOOS == "windows" {
		skip.Missing(t, "files have no POSIX modes on Windows, which these hooks need")
	}
	h := &home{t: t, dir: filepath.Join(t.TempDir(), "home"), env: map[string]string{}}
	h.sys = install.System{
		GOOS: "linux", Home: h.dir, StateDir: h.path(".local/state/hookspan"),
		Getenv: func(name string) string { return h.env[name] },
	}
	h.in = Installer{testAgent()}
	h.in.Agent.ManagedDir = map[string]string{"linux": h.path("managed")}
	h.in.Agent.Version = func(context.Context) (string, error) { return version, nil }
	fakeHook(t, h.hook())
	return h
}

func (h *home) path(rel string) string { return filepath.Join(h.dir, filepath.FromSlash(rel)) }

// tree lists everything below dir: mode, and content or link target.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += fmt.Sprintf(" %s %q", info.ModTime(), data)
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			text += " -> " + target
		}
		rel, err := filepath.Rel(dir, path)
		out[filepath.ToSlash(rel)] = text
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func sameTree(t *testing.T, what string, want, got map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func writeFile(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// fakeHook writes a program that does nothing.
func fakeHook(t *testing.T, path string) {
	t.Helper()
	writeFile(t, path, "#!/bin/sh\n", 0o755)
}

func (h *home) hasHooks(path string) bool {
	h.t.Helper()
	m, err := install.ReadManifest(h.sys.StateDir)
	if err != nil {
		h.t.Fatal(err)
	}
	return h.in.Agent.hasHooks(h.sys, m, path)
}
