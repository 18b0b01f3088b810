package settings

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/jsonedit"
)

func TestHandlerForm(t *testing.T) {
	const simple, hard = "/opt/hookspan-1.0/bin/claude-hook", "/home/it's me/claude-hook"
	bare := func(path string) jsonedit.Object {
		return jsonedit.Object{{Key: "type", Value: "command"}, {Key: "command", Value: path}, {Key: "args", Value: jsonedit.Array{"Stop"}}, {Key: "timeout", Value: 10}}
	}
	exec := func(path string) jsonedit.Object {
		return jsonedit.Object{{Key: "type", Value: "command"}, {Key: "command", Value: "/usr/bin/env"}, {Key: "args", Value: jsonedit.Array{"GOMEMLIMIT=", "GODEBUG=", path, "Stop"}}, {Key: "timeout", Value: 10}}
	}
	shell := func(line string) jsonedit.Object {
		return jsonedit.Object{{Key: "type", Value: "command"}, {Key: "command", Value: line}, {Key: "timeout", Value: 10}}
	}
	const onWindows, plainWindows = `C:\hookspan\claude-hook.exe`, `C:/hookspan/claude-hook.exe`
	tests := map[string]struct {
		goos, binary, version string
		want                  jsonedit.Object
	}{
		"new":                       {"linux", simple, "2.1.139", exec(simple)},
		"new, odd path":             {"darwin", hard, "2.1.329", exec(hard)},
		"old":                       {"linux", simple, "2.1.138", shell("GOMEMLIMIT= GODEBUG= exec '" + simple + "' Stop")},
		"old, odd path":             {"linux", hard, "1.0.0", shell(`GOMEMLIMIT= GODEBUG= exec '/home/it'\''s me/claude-hook' Stop`)},
		"unknown":                   {"linux", simple, "", shell("GOMEMLIMIT= GODEBUG= exec '" + simple + "' Stop")},
		"new, Windows":              {"windows", onWindows, "2.1.329", bare(plainWindows)},
		"old, Windows":              {"windows", onWindows, "2.0.0", shell(`'` + plainWindows + `' Stop`)},
		"unknown, Windows":          {"windows", onWindows, "", bare(plainWindows)},
		"unknown, space, Windows":   {"windows", `C:\a b\claude-hook.exe`, "", shell(`'C:/a b/claude-hook.exe' Stop`)},
		"unknown, simple, Windows":  {"windows", plainWindows, "", bare(plainWindows)},
		"unknown, another, Windows": {"windows", "C:/工具/claude-hook.exe", "", bare("C:/工具/claude-hook.exe")},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := testAgent().wanted(tt.goos, tt.binary, parseVersion(tt.version)).render(Event{Name: "Stop"}, "", nil)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("handler (-want +got):\n%s", diff)
			}
		})
	}
}

// TestHandlerOnWindows writes the commands that each shell starts there, and finds
// them installed.
func TestHandlerOnWindows(t *testing.T) {
	const simple, hard = `C:\hookspan\claude-hook.exe`, `C:\it's me\claude-hook.exe`
	tests := map[string]struct {
		agent        Agent
		binary, want string
	}{
		"PowerShell":                {Agent{WindowsShell: ShellPowerShell}, simple, `& 'C:\hookspan\claude-hook.exe' test Stop`},
		"PowerShell, quote":         {Agent{WindowsShell: ShellPowerShell}, hard, `& 'C:\it''s me\claude-hook.exe' test Stop`},
		"PowerShell, never failing": {Agent{WindowsShell: ShellPowerShell, FailureDenies: true}, hard, `& 'C:\it''s me\claude-hook.exe' test Stop ; exit 0`},
		"cmd.exe":                   {Agent{WindowsShell: ShellCmd}, simple, `C:\hookspan\claude-hook.exe test Stop`},
		"cmd.exe, quote":            {Agent{WindowsShell: ShellCmd}, hard, `"C:\it's me\claude-hook.exe" test Stop`},
		"POSIX, quote":              {Agent{ExecSince: Version{2, 1, 139}}, hard, `'C:/it'\''s me/claude-hook.exe' test Stop`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.agent.Args, tt.agent.Events = []string{"test"}, Events("Stop")
			w := tt.agent.wanted("windows", tt.binary, Version{})
			text := jsonedit.Style{Colon: ":", Comma: ","}.Render(w.render(tt.agent.Events[0], "", nil), "")
			root, err := jsonedit.Parse([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			if got, want := string(root.Get("command").Raw([]byte(text))), jsonedit.Quote(tt.want); got != want {
				t.Errorf("%s, want %s", got, want)
			}
			h, ok := parseHandler([]byte(text), root)
			if state, reason := w.judge(h, "Stop", ""); !ok || !h.installed() || state != install.StateInstalled {
				t.Errorf("read %+v: %s %s", h, state, reason)
			}
		})
	}
}

func TestHandlerSucceedsWhereFailureDenies(t *testing.T) {
	agent := Agent{Args: []string{"test"}, Events: Events("PreToolUse"), FailureDenies: true}
	w := agent.wanted("linux", testHook, Version{})
	var command string
	for _, f := range w.render(agent.Events[0], "", nil) {
		if s, ok := f.Value.(string); ok && f.Key == "command" {
			command = s
		}
	}
	if !strings.HasSuffix(command, " test PreToolUse || true") || strings.Contains(command, "exec ") {
		t.Errorf("command %q", command)
	}
	for command, want := range map[string]install.State{
		command:                                 install.StateInstalled,
		strings.TrimSuffix(command, " || true"): install.StateOutdated,
	} {
		h := handler{form: formShell, timeout: "10"}
		h.resolve(command)
		if state, reason := w.judge(h, "PreToolUse", ""); state != want {
			t.Errorf("%s: %s (%s), want %s", command, state, reason, want)
		}
	}
}

// TestJudgeFindsHooksOfOtherAgents judges entries that were copied from the settings of
// one agent to those of another.
func TestJudgeFindsHooksOfOtherAgents(t *testing.T) {
	without, with := &Agent{Events: Events("Stop")}, &Agent{Args: []string{"test"}, Events: Events("Stop")}
	for name, tt := range map[string]struct {
		agent *Agent
		args  []string
		want  install.State
	}{
		"with a name":     {with, []string{"test", "Stop"}, install.StateInstalled},
		"name missing":    {with, []string{"Stop"}, install.StateOutdated},
		"without a name":  {without, []string{"Stop"}, install.StateInstalled},
		"name of another": {without, []string{"test", "Stop"}, install.StateOutdated},
		"name alone":      {with, []string{"test"}, install.StateOutdated},
	} {
		h := handler{program: testHook, args: tt.args, form: formShell, guarded: true, timeout: "10"}
		if state, reason := tt.agent.wanted("linux", testHook, Version{}).judge(h, "Stop", ""); state != tt.want {
			t.Errorf("%s: %s (%s), want %s", name, state, reason, tt.want)
		}
	}
}
