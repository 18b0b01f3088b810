package claude

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/testkit/skip"
)

// machine is a home folder in a temporary place, with a Claude Code of a version.
type machine struct {
	t         *testing.T
	sys       install.System
	in        Installer
	options   install.Options
	version   string
	variables map[string]string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	if runtime.GOOS == "windows" {
		skip.Missing(t, "files have no POSIX modes on Windows, which these hooks need")
	}
	m := &machine{t: t, version: "2.1.332 (Claude Code)", variables: map[string]string{}}
	home := t.TempDir()
	m.sys = install.System{
		GOOS: "linux", Home: home, StateDir: filepath.Join(home, "state"),
		Getenv: func(name string) string { return m.variables[name] },
	}
	m.in = Installer{ManagedDir: m.path("managed"), Version: func(context.Context) (string, error) { return m.version, nil }}
	m.options = install.Options{Binary: m.path("claude-hook"), Dir: m.path("project")}
	m.write("claude-hook", "")
	m.write("project/main.go", "")
	return m
}

func (m *machine) path(name string) string {
	return filepath.Join(m.sys.Home, filepath.FromSlash(name))
}

func (m *machine) write(name, text string) {
	m.t.Helper()
	if err := os.MkdirAll(filepath.Dir(m.path(name)), 0o700); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(m.path(name), []byte(text), 0o700); err != nil {
		m.t.Fatal(err)
	}
}

// plan plans an installation.
func (m *machine) plan() *install.Plan {
	m.t.Helper()
	p, err := m.in.Plan(m.t.Context(), m.sys, m.options)
	if err != nil {
		m.t.Fatal(err)
	}
	return p
}

func (m *machine) install() {
	m.t.Helper()
	if err := install.Apply(m.plan()); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) status() *install.Report {
	m.t.Helper()
	r, err := m.in.Status(m.t.Context(), m.sys, m.options)
	if err != nil {
		m.t.Fatal(err)
	}
	return r
}

func TestPlanFindsTheSettingsOfAScope(t *testing.T) {
	tests := map[string]struct{ scope, dir, want string }{
		"default":                {"", "", ".claude/settings.json"},
		"user":                   {install.ScopeUser, "", ".claude/settings.json"},
		"user, folder elsewhere": {install.ScopeUser, "conf", "conf/settings.json"},
		"project":                {install.ScopeProject, "conf", "project/.claude/settings.json"},
		"local":                  {install.ScopeLocal, "", "project/.claude/settings.local.json"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			if m.options.Scope = tt.scope; tt.dir != "" {
				m.variables["CLAUDE_CONFIG_DIR"] = m.path(tt.dir)
			}
			p := m.plan()
			if len(p.Places) != 1 || p.Places[0].Path != m.path(tt.want) || !strings.Contains(p.Text(), "create   22 events") {
				t.Errorf("want %s; plan:\n%s", tt.want, p.Text())
			}
		})
	}
}

func TestPlanWarnsOfHooksThatDoNotRun(t *testing.T) {
	tests := map[string]struct{ file, text, want string }{
		"switched off":        {".claude/settings.json", `{"disableAllHooks":true}`, "hooks are switched off in Claude Code's settings (disableAllHooks in "},
		"organisation's only": {"managed/managed-settings.d/10.json", `{"allowManagedHooksOnly":true}`, "runs no hooks but your organisation's (allowManagedHooksOnly in "},
		"the user's alone":    {".claude/settings.json", `{"allowManagedHooksOnly":true}`, ""},
		"setting of another":  {".claude/settings.json", `{"hooksConfig":{"enabled":false}}`, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.write(tt.file, tt.text)
			if got := strings.Join(m.plan().Warnings, "\n"); !strings.Contains(got, tt.want) || got != "" && tt.want == "" {
				t.Errorf("warnings %q, want %q", got, tt.want)
			}
		})
	}
}

// TestEventsOfAnOlderClaudeCode installs what the version has and misses nothing else
// until an upgrade.
func TestEventsOfAnOlderClaudeCode(t *testing.T) {
	m := newMachine(t)
	m.version = "2.1.80"
	want := []string{"Claude Code 2.1.80 does not have UserPromptExpansion, PermissionDenied, PostModelSwitch, TaskCreated, PreSkillShellCommand: install again after an upgrade"}
	if diff := cmp.Diff(want, m.plan().Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	m.install()
	if r := m.status(); !r.Healthy() || r.Sites[0].Count(install.StateInstalled) != 17 {
		t.Errorf("installed:\n%s", r.Text())
	}
	m.version = "2.1.332"
	if r := m.status(); r.Healthy() || r.Sites[0].Count(install.StateMissing) != 5 {
		t.Errorf("after an upgrade:\n%s", r.Text())
	}
}

// TestEvents keeps each event single, and those out that must not be installed.
func TestEvents(t *testing.T) {
	seen := map[string]bool{}
	for _, ev := range events() {
		if seen[ev.Name] {
			t.Errorf("%s is listed twice", ev.Name)
		}
		seen[ev.Name] = true
	}
	for _, never := range []string{"WorktreeCreate", "PreModelSwitch", "MessageDisplay", "PostToolBatch"} {
		if seen[never] {
			t.Errorf("%s must not be installed", never)
		}
	}
}

func TestRecords(t *testing.T) {
	shell := func(line string) []string { return []string{line} }
	program := func(command string, args ...string) []string { return append([]string{command, ""}, args...) }
	tests := map[string]struct {
		// command is a line, or a program and, behind an empty text, its arguments.
		command []string
		want    bool
	}{
		"by name":                {shell("claude-hook"), true},
		"with an event":          {shell("/home/x/bin/claude-hook Stop"), true},
		"with an event to come":  {shell("/home/x/bin/claude-hook TeaBreak"), true},
		"as installed":           {shell("GOMEMLIMIT= GODEBUG= exec '/home/x y/claude-hook' Stop"), true},
		"under a quote":          {shell(`GOMEMLIMIT= exec '/home/o'\''neil/claude-hook' Stop`), true},
		"on Windows":             {shell(`"C:\Program Files\claude-hook.exe" Stop`), true},
		"a program":              {program("/b/claude-hook", "Stop"), true},
		"a program with a space": {program("/b c/claude-hook"), true},
		"a program as installed": {program("/usr/bin/env", "GOMEMLIMIT=", "GODEBUG=", "/b/claude-hook", "Stop"), true},
		"with a flag":            {shell("claude-hook --port 3043"), false},
		"with one flag":          {program("claude-hook", "--bridge"), false},
		"another variable":       {shell("A=1 claude-hook Stop"), false},
		"in a pipe":              {shell("claude-hook Stop | tee log"), false},
		"of a similar name":      {shell("my-claude-hook Stop"), false},
		"a package of npm":       {shell("npx claude-hook Stop"), false},
		"env alone":              {program("/usr/bin/env"), false},
		"variables alone":        {shell("A= B="), false},
		"nothing":                {shell(""), false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var args []string
			if len(tt.command) > 1 {
				args = tt.command[2:]
			}
			if got := Records(tt.command[0], args); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}
