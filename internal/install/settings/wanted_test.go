package settings

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/jsonedit"
	"github.com/hookspan/hookspan/internal/testkit/skip"
)

func TestHandlerForm(t *testing.T) {
	const simple, hard = "/opt/hookspan-1.0/bin/claude-hook", "/home/it's me/claude-hook"
	bare := func(path string) jsonedit.Object {
		return jsonedit.Object{{Key: "type", Value: "command"}, {Key: "command", Value: path}, {Key: "args", Value: jsonedit.Array{"Stop"}}, {Key: "timeout", Value: 10}}
	}
	shell := func(line string) jsonedit.Object {
		return jsonedit.Object{{Key: "type", Value: "command"}, {Key: "command", Value: line}, {Key: "timeout", Value: 10}}
	}
	const onWindows, plainWindows = `C:\hookspan\claude-hook.exe`, `C:/hookspan/claude-hook.exe`
	tests := map[string]struct {
		goos, binary, version string
		want                  jsonedit.Object
	}{
		"new":                       {"linux", simple, "2.1.139", shell("GOMEMLIMIT= GODEBUG= '" + simple + "' Stop 2>/dev/null || cat >/dev/null")},
		"new, odd path":             {"darwin", hard, "2.1.329", shell(`GOMEMLIMIT= GODEBUG= '/home/it'\''s me/claude-hook' Stop 2>/dev/null || cat >/dev/null`)},
		"old":                       {"linux", simple, "2.1.138", shell("GOMEMLIMIT= GODEBUG= '" + simple + "' Stop 2>/dev/null || cat >/dev/null")},
		"old, odd path":             {"linux", hard, "1.0.0", shell(`GOMEMLIMIT= GODEBUG= '/home/it'\''s me/claude-hook' Stop 2>/dev/null || cat >/dev/null`)},
		"unknown":                   {"linux", simple, "", shell("GOMEMLIMIT= GODEBUG= '" + simple + "' Stop 2>/dev/null || cat >/dev/null")},
		"new, Windows":              {"windows", onWindows, "2.1.329", bare(plainWindows)},
		"old, Windows":              {"windows", onWindows, "2.0.0", shell(`'` + plainWindows + `' Stop 2>/dev/null || cat >/dev/null`)},
		"unknown, Windows":          {"windows", onWindows, "", bare(plainWindows)},
		"unknown, space, Windows":   {"windows", `C:\a b\claude-hook.exe`, "", shell(`'C:/a b/claude-hook.exe' Stop 2>/dev/null || cat >/dev/null`)},
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
		agent        Spec
		binary, want string
	}{
		"PowerShell":        {Spec{WindowsShell: ShellPowerShell}, simple, `& 'C:\hookspan\claude-hook.exe' test Stop ; exit 0`},
		"PowerShell, quote": {Spec{WindowsShell: ShellPowerShell}, hard, `& 'C:\it''s me\claude-hook.exe' test Stop ; exit 0`},
		"cmd.exe":           {Spec{WindowsShell: ShellCmd}, simple, `C:\hookspan\claude-hook.exe test Stop`},
		"cmd.exe, quote":    {Spec{WindowsShell: ShellCmd}, hard, `"C:\it's me\claude-hook.exe" test Stop`},
		"POSIX, quote":      {Spec{ExecSince: Version{2, 1, 139}}, hard, `'C:/it'\''s me/claude-hook.exe' test Stop 2>/dev/null || cat >/dev/null`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.agent.Agent.Word, tt.agent.Events = "test", Events("Stop")
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

// TestHandlerSucceedsWithoutItsProgram runs the command of a program that is gone, one
// that cannot be started and one that fails: it succeeds, reads all and says nothing.
func TestHandlerSucceedsWithoutItsProgram(t *testing.T) {
	if runtime.GOOS == "windows" {
		skip.Missing(t, "needs sh")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"cannot": "\x7fELF", "fails": "#!/bin/sh\necho no >&2\nexit 2\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil { //nolint:gosec // A program.
			t.Fatal(err)
		}
	}
	for _, name := range []string{"gone", "cannot", "fails"} {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", ShellPOSIX.line(filepath.Join(dir, name), []string{"Stop"}))
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// More than a pipe holds.
		if _, err := in.Write(make([]byte, 1<<20)); err != nil {
			t.Errorf("%s: the payload was not read: %v", name, err)
		}
		if err := errors.Join(in.Close(), cmd.Wait()); err != nil || out.Len() > 0 {
			t.Errorf("%s: %v, says %q", name, err, out.String())
		}
	}
}

func TestJudgeFindsHooksThatCanFail(t *testing.T) {
	agent := Spec{Agent: hook.Agent{Word: "test"}, Events: Events("PreToolUse")}
	w := agent.wanted("linux", testHook, Version{})
	const start = "GOMEMLIMIT= GODEBUG= "
	program := "'" + testHook + "' test PreToolUse"
	for command, want := range map[string]install.State{
		start + program + " 2>/dev/null || cat >/dev/null": install.StateInstalled,
		start + program:           install.StateOutdated,
		start + "exec " + program: install.StateOutdated,
	} {
		h := handler{form: formShell, timeout: "10"}
		h.resolve(command)
		if state, reason := w.judge(h, "PreToolUse", ""); state != want || !h.installed() {
			t.Errorf("%s: %s (%s), want %s", command, state, reason, want)
		}
	}
}

// TestJudgeFindsHooksOfOtherAgents judges entries that were copied from the settings of
// one agent to those of another.
func TestJudgeFindsHooksOfOtherAgents(t *testing.T) {
	without, with := &Spec{Events: Events("Stop")}, &Spec{Agent: hook.Agent{Word: "test"}, Events: Events("Stop")}
	for name, tt := range map[string]struct {
		agent *Spec
		args  []string
		want  install.State
	}{
		"with a name":     {with, []string{"test", "Stop"}, install.StateInstalled},
		"name missing":    {with, []string{"Stop"}, install.StateOutdated},
		"without a name":  {without, []string{"Stop"}, install.StateInstalled},
		"name of another": {without, []string{"test", "Stop"}, install.StateOutdated},
		"name alone":      {with, []string{"test"}, install.StateOutdated},
	} {
		h := handler{program: testHook, args: tt.args, form: formShell, guarded: true, succeeds: true, timeout: "10"}
		if state, reason := tt.agent.wanted("linux", testHook, Version{}).judge(h, "Stop", ""); state != tt.want {
			t.Errorf("%s: %s (%s), want %s", name, state, reason, tt.want)
		}
	}
}
