package claude

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/install"
)

func (h *home) claudeStatus() *install.Report {
	h.t.Helper()
	r, err := h.in.Status(h.t.Context(), h.sys, install.Options{Binary: h.claudeHook(), Dir: h.path("src/project")})
	if err != nil {
		h.t.Fatal(err)
	}
	return r
}

func TestClaudeStatus(t *testing.T) {
	const rel = ".claude/settings.json"
	edit := func(old, new string) func(t *testing.T, h *home) {
		return func(t *testing.T, h *home) {
			text := readFile(t, h.path(rel))
			changed := strings.Replace(text, strings.ReplaceAll(old, "BIN", h.claudeHook()), new, 1)
			if changed == text {
				t.Fatalf("no %q in the settings", old)
			}
			writeFile(t, h.path(rel), changed, 0o600)
		}
	}
	tests := map[string]struct {
		change                       func(t *testing.T, h *home)
		ours, stale, edited, missing int
		text                         string
		healthy                      bool
	}{
		"installed":        {func(*testing.T, *home) {}, 21, 0, 0, 0, "installed 21 events", true},
		"one missing":      {edit(`"Stop": [`, `"Setup": [`), 20, 1, 0, 1, "missing  Stop", false},
		"edited":           {edit(`"timeout": 10`, `"timeout": 60`), 20, 0, 1, 0, "edited   SessionStart: has another timeout", true},
		"other program":    {edit(`"BIN"`, `"/usr/bin/claude-hook"`), 20, 1, 0, 0, "outdated SessionStart: starts /usr/bin/claude-hook", false},
		"reports another":  {edit(`"SessionEnd"`+"\n", `"Stop"`+"\n"), 20, 1, 0, 0, `outdated SessionEnd: reports "Stop"`, false},
		"settings gone":    {func(t *testing.T, h *home) { remove(t, h.path(rel)) }, 0, 0, 0, 21, "missing  21 events", false},
		"settings damaged": {func(t *testing.T, h *home) { writeFile(t, h.path(rel), "{", 0o600) }, 0, 0, 0, 0, "line 1, column 2: the file ends too early", false},
		"program gone":     {func(t *testing.T, h *home) { remove(t, h.claudeHook()) }, 0, 21, 0, 0, "claude-hook is gone", false},
		"is there twice":   {edit(`"SessionEnd": [`, `"SessionEnd": [{"hooks":[{"type":"command","command":"claude-hook"}]},`), 20, 1, 0, 0, "is there twice", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHome(t, newClaude)
			writeFile(t, h.path("src/project/x"), "", 0o600)
			h.installClaude(h.claude(install.ScopeUser))
			tt.change(t, h)
			r := h.claudeStatus()
			if len(r.Sites) != 1 || !r.Present() {
				t.Fatalf("report %+v", r)
			}
			s := r.Sites[0]
			for state, want := range map[install.State]int{install.StateInstalled: tt.ours, install.StateOutdated: tt.stale, install.StateEdited: tt.edited, install.StateMissing: tt.missing} {
				if got := s.Count(state); got != want {
					t.Errorf("%d %s, want %d", got, state, want)
				}
			}
			if !strings.Contains(r.Text(), tt.text) || r.Healthy() != tt.healthy {
				t.Errorf("healthy %v, text:\n%s", r.Healthy(), r.Text())
			}
		})
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func TestClaudeStatusWithoutHooks(t *testing.T) {
	h := newHome(t, newClaude)
	writeFile(t, h.path("src/project/x"), "", 0o600)
	if r := h.claudeStatus(); len(r.Sites) != 0 || r.Present() || r.Healthy() {
		t.Errorf("without Claude Code: %+v", r)
	}
	writeFile(t, h.path(".claude/settings.json"), `{"disableAllHooks":true}`, 0o600)
	r := h.claudeStatus()
	if len(r.Sites) != 1 || r.Present() || len(r.Off) != 0 || !strings.Contains(r.Text(), "no hookspan hooks") {
		t.Errorf("with settings of the user's alone:\n%s", r.Text())
	}
	h.installClaude(h.claude(install.ScopeLocal))
	r = h.claudeStatus()
	if len(r.Sites) != 2 || !r.Present() || r.Healthy() || len(r.Off) != 1 {
		t.Errorf("installed for a project, hooks off: %+v", r)
	}
	writeFile(t, h.path("src/project/.claude/settings.json"), `{"disableAllHooks":false}`, 0o600)
	if r = h.claudeStatus(); !r.Healthy() {
		t.Errorf("installed for a project alone:\n%s", r.Text())
	}
}

func TestClaudeStatusIgnoresRemovedProject(t *testing.T) {
	h := newHome(t, newClaude)
	writeFile(t, h.path("src/project/x"), "", 0o600)
	h.installClaude(h.claude(install.ScopeProject))
	if err := os.RemoveAll(h.path("src/project")); err != nil {
		t.Fatal(err)
	}
	r, err := h.in.Status(t.Context(), h.sys, install.Options{Binary: h.claudeHook()})
	if err != nil || r.Present() {
		t.Errorf("%v, report %+v", err, r)
	}
	h.uninstallClaude(install.Options{})
	if install.FileExists(h.sys.StateDir) {
		t.Error("the record stays")
	}
}

// TestClaudeStatusIgnoresUnknownEvents does not miss events that this Claude Code
// does not have, and asks for the version only when something is missing.
func TestClaudeStatusIgnoresUnknownEvents(t *testing.T) {
	h := newHome(t, "2.1.80")
	h.installClaude(h.claude(install.ScopeUser))
	asked := 0
	h.in.Version = func(context.Context) (string, error) { asked++; return "2.1.80", nil }
	writeFile(t, h.path("src/project/x"), "", 0o600)
	if r := h.claudeStatus(); !r.Healthy() || r.Sites[0].Count(install.StateInstalled) != 17 || asked != 1 {
		t.Errorf("asked %d times:\n%s", asked, r.Text())
	}
	h.in.Version = func(context.Context) (string, error) { asked++; return newClaude, nil }
	if r := h.claudeStatus(); r.Healthy() || r.Sites[0].Count(install.StateMissing) != 4 {
		t.Errorf("after an upgrade:\n%s", r.Text())
	}
	h.installClaude(h.claude(install.ScopeUser))
	asked = 0
	if r := h.claudeStatus(); !r.Healthy() || asked != 0 {
		t.Errorf("asked %d times though nothing is missing:\n%s", asked, r.Text())
	}
}

func TestClaudeTelemetry(t *testing.T) {
	tests := map[string]struct {
		env, settings, want string
	}{
		"off":                {"", `{}`, ""},
		"in the environment": {"1", `{}`, "the environment"},
		"in the settings":    {"", `{"env":{"CLAUDE_CODE_ENABLE_TELEMETRY":"true"}}`, "settings.json"},
		"a number":           {"", `{"env":{"CLAUDE_CODE_ENABLE_TELEMETRY":1}}`, "settings.json"},
		"switched off":       {"0", `{"env":{"CLAUDE_CODE_ENABLE_TELEMETRY":"0"}}`, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHome(t, newClaude)
			h.env["CLAUDE_CODE_ENABLE_TELEMETRY"] = tt.env
			writeFile(t, h.path("src/project/x"), "", 0o600)
			writeFile(t, h.path(".claude/settings.json"), tt.settings, 0o600)
			h.installClaude(h.claude(install.ScopeUser))
			if got := h.claudeStatus().Telemetry; !strings.Contains(got, tt.want) || got != "" && tt.want == "" {
				t.Errorf("telemetry in %q, want %q", got, tt.want)
			}
		})
	}
}
