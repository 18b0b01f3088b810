//go:build !windows

package hooks_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/testkit/golden"
	"github.com/hookspan/hookspan/internal/ui/hooks"
	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
	"github.com/hookspan/hookspan/internal/userhooks/sample"
)

// TestStoryOfTheTerminal has the commands' texts about files, hooks and tests.
func TestStoryOfTheTerminal(t *testing.T) {
	s := newStory(t)
	text := hooks.Text{W: &s.out, Clean: func(text string) string { return strings.ReplaceAll(text, "secret", "[REDACTED]") }}
	const all = `{"env":{"TEAM":"shop","KEY":"secret"},"disableAllHooks":%t,"hooks":{
"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"guard\nsecret\t1","if":"Bash(rm *)","timeout":90,"shell":"bash","once":true,"onFailure":"block"},
{"type":"command","command":"sh","args":["-c","exit 0"],"async":true}]}],
"Stop":[{"hooks":[{"type":"http","url":"http://h/","headers":{"B":"2","A":"1"},"allowedEnvVars":["X","Y"]},{"type":"command","command":"rewake","asyncRewake":true}]}],
"Setup":[{"hooks":[{"type":"command","command":"never"}]}]}}`
	for _, off := range []bool{false, true} {
		f, err := hookfile.Parse("/h/hooks.json", fmt.Appendf(nil, all, off))
		if err != nil {
			t.Fatal(err)
		}
		text.File(f, f.Problems)
		s.write("%s\n", hooks.RunsText(f))
	}
	for _, some := range []string{`{"env":{"A":"b"}}`, `{}`, `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"one"}]}]}}`} {
		f, err := hookfile.Parse("/h/hooks.json", []byte(some))
		if err != nil {
			t.Fatal(err)
		}
		s.write("%s: %s\n", some, hooks.RunsText(f))
	}

	setup := s.catalog.Process.Setup()
	files := func(what string) {
		l := setup.List(setup.Sources(s.home.Project))
		var plain strings.Builder
		hooks.Text{W: &plain, Clean: text.Clean}.Files(l.Files, "")
		hooks.Text{W: &plain, Clean: text.Clean}.Problems(l.Problems)
		for i := range l.Files {
			l.Files[i].Hooks = l.Files[i].Hooks[:min(i, len(l.Files[i].Hooks))]
			for j := range l.Files[i].Hooks {
				l.Files[i].Hooks[j].Why = "it matches\neverything"
			}
		}
		hooks.Text{W: &plain, Clean: text.Clean}.Files(l.Files, "Bash")
		s.write("== %s\n%s", what, plain.String())
	}
	files("not trusted")
	trust := func(data string) {
		s.home.Write("code/shop/.cline/hooks.json", data, 0o644)
		if err := setup.Trust.Add(s.home.Project+"/.cline/hooks.json", []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	trust(`{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"./check.sh","timeout":5}]}]}}`)
	files("trusted")
	trust(`{"disableAllHooks":true}`)
	files("the project's are switched off")
	s.home.Write("code/shop/.cline/hooks.json", "{", 0o644)
	files("the project's cannot be read")
	s.home.Write(".cline/hooks.json", `{"disableAllHooks":true}`, 0o600)
	files("all are switched off")

	long := strings.Repeat("line\n", 12)
	s.home.Write(".cline/hooks.json", fmt.Sprintf(`{"hooks":{"PreToolUse":[{"matcher":"Bash|Read","hooks":[{"type":"command","command":%q},{"type":"command","command":"exit 3","async":true}]},{"matcher":"Edit","hooks":[{"type":"command","command":"true"}]}],
		"UserPromptSubmit":[{"hooks":[{"type":"command","command":"echo mind secret"}]}],"PostToolUse":[{"hooks":[{"type":"command","command":"echo no >&2; exit 2"}]}]}}`,
		"printf '"+strings.ReplaceAll(long, "\n", `\n`)+"'; echo oops >&2; exit 2"), 0o600)
	s.home.Write("code/shop/.cline/hooks.json", `{"hooks":{}}`, 0o644)
	for _, c := range []struct {
		event, tool, dialect, input string
		dry, debug, off             bool
	}{
		{event: "PreToolUse", tool: "execute_command"},
		{event: "PreToolUse", tool: "read_files", dialect: "sdk"},
		{event: "PreToolUse", tool: "write_to_file", debug: true, dry: true},
		{event: "PreToolUse", tool: "run_commands", dialect: "sdk", input: `{"commands":["ls","pwd"]}`, dry: true},
		{event: "UserPromptSubmit", dialect: "next"},
		{event: "PostToolUse", tool: "execute_command", debug: true},
		{event: "Stop", off: true},
		{event: "PreToolUse", tool: "execute_command", debug: true},
	} {
		s.write("== %+v\n", c)
		q := sample.Request{Event: c.event, Tool: c.tool, Dialect: c.dialect, Input: c.input, Given: func(flag string) bool {
			return flag == "tool" && c.tool != "" || flag == "dialect" && c.dialect != "" || flag == "json" && c.input != ""
		}}
		payload, err := q.Payload(s.home.Project, s.now)
		if err != nil {
			t.Fatal(err)
		}
		raw := hook.Raw{StoredAt: s.now, Cwd: s.home.Project, Event: payload.Event.HookFile()}
		if raw.Payload, err = payload.Encode(); err != nil {
			t.Fatal(err)
		}
		h := s.catalog.Process.Hooks()
		h.Trace = nil
		trial, err := h.Select(raw)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		p := hooks.TrialText{Text: hooks.Text{W: &out, Clean: text.Clean}, DryRun: c.dry, Debug: c.debug, Off: c.off}
		p.Event(raw, trial.Call)
		p.Choice(trial)
		if !c.dry {
			done, err := h.Try(t.Context(), raw)
			if err != nil {
				t.Fatal(err)
			}
			p.Runs(&done)
			p.Answer(&done)
		}
		s.write("%s", takes.ReplaceAllString(out.String(), "TIME"))
	}
	golden.Check(t, "terminal.txt", s.out.String())
}
