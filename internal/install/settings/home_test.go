package settings

import (
	"context"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/hookspan/hookspan/hook"
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

// testAgent is an agent whose version decides about its events and whether a shell
// reads its commands.
func testAgent() *Spec {
	return &Spec{
		Agent: hook.Agent{Word: "agent", Name: "Test Agent", Program: "agent-hook", Folder: ".agent", Folders: []string{"AGENT_HOME"}, Scopes: []string{"user", "project", "local"}},
		File:  "settings.json", LocalFile: "settings.local.json",
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
	h.in.Spec.ManagedDir = map[string]string{"linux": h.path("managed")}
	h.in.Spec.Version = func(context.Context) (string, error) { return version, nil }
	fakeHook(t, h.hook())
	return h
}

func (h *home) path(rel string) string { return filepath.Join(h.dir, filepath.FromSlash(rel)) }

// fakeHook writes a program that does nothing.
func fakeHook(t *testing.T, path string) {
	t.Helper()
	installtest.Write(t, path, "#!/bin/sh\n", 0o755)
}

func (h *home) hasHooks(path string) bool {
	h.t.Helper()
	m, err := install.ReadManifest(h.sys.StateDir)
	if err != nil {
		h.t.Fatal(err)
	}
	return h.in.Spec.hasHooks(h.sys, m, path)
}
