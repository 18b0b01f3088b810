// Package hookstest makes home folders with configured hooks, for tests.
package hookstest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/internal/files/regular"
	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/install/claude"
	"github.com/hookspan/hookspan/internal/install/cline"
	"github.com/hookspan/hookspan/internal/redact/configured"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/ui/hooks"
	"github.com/hookspan/hookspan/internal/userhooks"
	"github.com/hookspan/hookspan/internal/userhooks/hookhttp"
	"github.com/hookspan/hookspan/internal/userhooks/runner"
)

// Home is a home folder in which hooks are configured.
type Home struct {
	t testing.TB
	// Dir is its path, Project that of a project in it.
	Dir, Project string
}

// The files of a home. HOME is its path. The spaces are part of what must stay.
const (
	ClineHooks = `{
  "env": { "TEAM": "shop" },
  "hooks": {
    "PreToolUse": [
      { "matcher": "Bash", "hooks": [
        {"type":"command",   "command":"HOME/hooks/guard.sh", "timeout": 10}
      ] },
      { "matcher": "Edit|Write", "hooks": [{ "type": "command", "command": "HOME/hooks/format.sh" }] }
    ],
    "PostToolUse": [{ "matcher": "bash", "hooks": [{ "type": "command", "command": "HOME/hooks/log.sh" }] }]
  }
}
`
	ClaudeSettings = `{
  "model": "opus",
  "hooks": {
    "PreToolUse": [{ "matcher": "Bash", "hooks": [{ "type": "command", "command": "./guard.sh" }] }],
    "Stop": [{ "if": 1, "hooks": [{ "type": "prompt", "prompt": "Is everything done?" }] }],
    "UserPromptSubmit": [{ "hooks": [{ "type": "command", "command": "HOME/hooks/context.sh", "if": "Bash(rm *)" }] }]
  }
}
`
	ProjectHooks = `{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":".cline/check.sh"}]}]}}` + "\n"
)

// New makes a home folder with hooks of both agents.
func New(t testing.TB) *Home {
	t.Helper()
	h := &Home{t: t, Dir: t.TempDir()}
	h.Project = filepath.Join(h.Dir, "code", "shop")
	h.Write(".cline/hooks.json", ClineHooks, 0o600)
	h.Write(".claude/settings.json", ClaudeSettings, 0o600)
	h.Write("code/shop/.cline/hooks.json", ProjectHooks, 0o644)
	h.Write("Documents/Cline/Hooks/TaskStart", "#!/bin/sh\ntrue\n", 0o755)
	h.Write("hooks/guard.sh", "#!/bin/sh\ngrep -q 'rm -rf' && { echo 'rm -rf goes too far' >&2; exit 2; }\nexit 0\n", 0o755)
	for _, name := range []string{"hooks/format.sh", "hooks/log.sh", "hooks/context.sh", "code/shop/.cline/check.sh"} {
		h.Write(name, "#!/bin/sh\nexit 0\n", 0o755)
	}
	return h
}

// Write writes a file of the home folder. HOME in the text becomes its path.
func (h *Home) Write(name, text string, mode os.FileMode) {
	h.t.Helper()
	path := filepath.Join(h.Dir, filepath.FromSlash(name))
	err := os.MkdirAll(filepath.Dir(path), 0o750)
	if err == nil {
		err = os.WriteFile(path, []byte(strings.ReplaceAll(text, "HOME", h.Dir)), mode)
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

// Read returns a file of the home folder.
func (h *Home) Read(name string) string {
	h.t.Helper()
	text, err := regular.Read(filepath.Join(h.Dir, filepath.FromSlash(name)), regular.Options{Max: 1 << 20})
	if err != nil {
		h.t.Fatal(err)
	}
	return string(text)
}

// Catalog is what a page lists of the home folder.
func (h *Home) Catalog(s *store.Store) *hooks.Catalog {
	h.t.Helper()
	environ := []string{"HOME=" + h.Dir, "PATH=" + os.Getenv("PATH")}
	cfg, err := config.Load(config.Input{Environ: environ, Home: h.Dir, GOOS: "linux"})
	if err != nil {
		h.t.Fatal(err)
	}
	sys := install.System{GOOS: "linux", Home: h.Dir, StateDir: cfg.StateDir}
	parts := runner.Parts()
	parts.Post, parts.Host = hookhttp.Client{}.Post, hookhttp.Host
	return &hooks.Catalog{
		Process: &userhooks.Process{
			Config: cfg, Environ: environ, Home: h.Dir, GOOS: "linux", Now: time.Now, Clean: configured.Always(cfg).String,
			Log: func(string) {}, Parts: parts,
		},
		Claude: claude.Installer{ManagedDir: filepath.Join(h.Dir, "managed")}, System: sys, Dir: h.Project, Store: s,
		Installed: func(ctx context.Context) (*install.Report, error) {
			return cline.Installer{DocumentsDir: func(context.Context) (string, error) { return "", nil }}.Status(ctx, sys, install.Options{Dir: h.Project})
		},
	}
}
