package agents

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/install/settings"
	"github.com/hookspan/hookspan/internal/jsonedit"
	"github.com/hookspan/hookspan/internal/testkit/skip"
)

// machine makes a home folder and a hook program with a path that needs quotes. No
// agent is on PATH.
func machine(t *testing.T, goos string) (install.System, install.Options) {
	t.Helper()
	if runtime.GOOS == "windows" && goos != runtime.GOOS {
		skip.Missing(t, "files have no POSIX modes on Windows, which these hooks need")
	}
	t.Setenv("PATH", "")
	home := filepath.ToSlash(t.TempDir())
	write(t, home+"/it's me/claude-hook", "")
	return install.System{GOOS: goos, Home: home}, install.Options{Binary: home + "/it's me/claude-hook"}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

// commands are how each shell starts a hook.
var commands = map[settings.Shell]string{
	settings.ShellPOSIX:      `'DIR/it'\''s me/claude-hook'WORD EVENT 2>/dev/null || cat >/dev/null`,
	settings.ShellCmd:        `"DIR/it's me/claude-hook"WORD EVENT`,
	settings.ShellPowerShell: `& 'DIR/it''s me/claude-hook'WORD EVENT ; exit 0`,
}

// TestHookCommands plans the hooks of each agent with settings, and finds the command that its
// shell starts.
func TestHookCommands(t *testing.T) {
	for _, agent := range All() {
		in, ok := agent.Installer.(settings.Installer)
		if !ok {
			continue // tested in its own package
		}
		for goos, shell := range map[string]settings.Shell{"linux": settings.ShellPOSIX, "windows": in.Spec.WindowsShell} {
			t.Run(agent.Word+" on "+goos, func(t *testing.T) {
				sys, o := machine(t, goos)
				p, err := agent.Installer.Plan(t.Context(), sys, o)
				if err != nil {
					t.Fatal(err)
				}
				want := commands[shell]
				if goos == "linux" {
					want = "GOMEMLIMIT= GODEBUG= " + want
				}
				word := agent.Argument()
				if word != "" {
					word = " " + word
				}
				want = jsonedit.Quote(strings.NewReplacer("DIR", sys.Home, "WORD", word, "EVENT", in.Spec.Events[0].Name).Replace(want))
				if !slices.ContainsFunc(p.Actions, func(a install.Action) bool { return strings.Contains(string(a.Content), want) }) {
					t.Errorf("no %s in\n%s", want, p.Diff())
				}
			})
		}
	}
}

// TestStatusSaysWhyHooksAreOff switches each agent's hooks off.
func TestStatusSaysWhyHooksAreOff(t *testing.T) {
	tests := map[string]struct{ agent, variable, file, text, want string }{
		"nothing":              {"claude", "", ".claude/settings.json", `{"hooksConfig":{"enabled":false}}`, ""},
		"Claude Code, setting": {"claude", "", ".claude/settings.json", `{"disableAllHooks":true}`, "hooks are switched off in Claude Code's settings (disableAllHooks in "},
		"Qwen Code, setting":   {"qwen", "", ".qwen/settings.json", `{"disableAllHooks":true} // mine`, "hooks are switched off in Qwen Code's settings (disableAllHooks in "},
		"Qwen Code, variable":  {"qwen", "QWEN_CODE_SAFE_MODE", "x", "", "Qwen Code runs no hooks while QWEN_CODE_SAFE_MODE is set in the environment"},
		"GitHub Copilot":       {"copilot", "", ".copilot/settings.json", `{"disableAllHooks":true}`, "hooks are switched off in GitHub Copilot's settings (disableAllHooks in "},
		"Gemini CLI":           {"gemini", "", ".gemini/settings.json", `{"hooksConfig":{"enabled":false}} // mine`, "hooks are switched off in Gemini CLI's settings (hooksConfig.enabled in "},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			sys, o := machine(t, "linux")
			sys.Getenv = func(variable string) string { return map[string]string{tt.variable: "1"}[variable] }
			write(t, filepath.Join(sys.Home, tt.file), tt.text)
			agent, _ := All().Named(tt.agent)
			p, err := agent.Installer.Plan(t.Context(), sys, o)
			if err != nil {
				t.Fatal(err)
			}
			if err := install.Apply(p); err != nil {
				t.Fatal(err)
			}
			r, err := agent.Installer.Status(t.Context(), sys, o)
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(r.Off, "\n")
			if !strings.HasPrefix(got, tt.want) || strings.Count(got, "nothing is recorded") != len(r.Off) || got != "" && tt.want == "" {
				t.Errorf("off %q, want %q", got, tt.want)
			}
		})
	}
}
