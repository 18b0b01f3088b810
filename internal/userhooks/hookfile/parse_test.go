package hookfile

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func parse(t testing.TB, text string) *File {
	t.Helper()
	f, err := Parse("/h/hooks.json", []byte(text))
	if err != nil {
		t.Fatalf("parse %q: %v", text, err)
	}
	return f
}

// said are the problems as "line:column event [matcher] text", those that cost a
// handler marked.
func said(f *File) []string {
	var out []string
	for _, p := range f.Problems {
		s := fmt.Sprintf("%d:%d %s", p.Line, p.Column, p.Event)
		if p.Matcher != "" {
			s += " [" + p.Matcher + "]"
		}
		if p.Dropped {
			s += " LOST"
		}
		out = append(out, s+" "+p.Text)
	}
	return out
}

// run are the handlers that run, described.
func run(f *File) []string {
	var out []string
	for _, h := range f.Handlers {
		out = append(out, fmt.Sprintf("%d %s", h.Line, Describe(h, strings.Join(append([]string{h.Command}, h.Args...), " "))))
	}
	return out
}

func TestParseClaudeSettings(t *testing.T) {
	data, err := os.ReadFile("testdata/claude-settings.json")
	if err != nil {
		t.Fatal(err)
	}
	f := parse(t, string(data))
	file := "/h/hooks.json"
	want := []Handler{
		{Event: "PreToolUse", Matcher: "Bash", Type: "command", Command: `"$CLAUDE_PROJECT_DIR"/.claude/hooks/guard.sh`, Timeout: 10 * time.Second, File: file, Line: 13},
		{Event: "PreToolUse", Matcher: "Bash", Type: "command", Command: "hooktrace", Args: []string{"claude", "--event", "PreToolUse"}, File: file, Line: 18},
		{Event: "PreToolUse", Matcher: "Edit|Write", Type: "command", Command: "/opt/hooks/protect.sh", If: "Edit(*.env)", File: file, Line: 33},
		{
			Event: "PreToolUse", Matcher: "mcp__github__.*", Type: "http", URL: "http://127.0.0.1:8787/hook",
			Headers: map[string]string{"Authorization": "Bearer $HOOK_TOKEN"}, AllowedEnvVars: []string{"HOOK_TOKEN"},
			Timeout: 5 * time.Second, File: file, Line: 43,
		},
		{Event: "PostToolUse", Type: "command", Command: "hooktrace claude", Async: true, Timeout: 30 * time.Second, File: file, Line: 60},
		{Event: "SessionEnd", Type: "command", Command: "hooktrace claude", Timeout: 10 * time.Second, File: file, Line: 103},
	}
	if diff := cmp.Diff(want, f.Handlers); diff != "" {
		t.Errorf("handlers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		`73:21 Stop LOST hooks of type "prompt" do not run here: want "command" or "http"`,
		`78:21 Stop LOST hooks of type "agent" do not run here: want "command" or "http"`,
		`90:21 SessionStart [startup|resume] LOST hooks of type "mcp_tool" do not run here: want "command" or "http"`,
	}, said(f)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestParseAllMembers(t *testing.T) {
	f := parse(t, `{"disableAllHooks":true,"hooks":{"PreToolUse":[{"matcher":"*","hooks":[{"type":"command","command":"c","args":[],"shell":"bash",
"timeout":0.25,"if":"Bash(rm *)","asyncRewake":true,"once":true,"onFailure":"block","statusMessage":1,"unknown":null}]}]}}`)
	want := []Handler{{
		Event: "PreToolUse", Matcher: "*", Type: "command", Command: "c", Args: []string{}, Shell: "bash", Timeout: 250 * time.Millisecond,
		If: "Bash(rm *)", Async: true, AsyncRewake: true, Once: true, BlockOnFailure: true, File: "/h/hooks.json", Line: 1,
	}}
	if diff := cmp.Diff(want, f.Handlers); diff != "" {
		t.Errorf("handlers (-want +got):\n%s", diff)
	}
	if !f.Disabled || f.Path != "/h/hooks.json" {
		t.Errorf("file %q, disabled %v", f.Path, f.Disabled)
	}
}

func TestParseAcceptsEmptyFile(t *testing.T) {
	for _, text := range []string{`{}`, `{"hooks":{}}`, "\ufeff{\"x\":[]}", `{"hooks":{"Stop":[]}}`, `{"hooks":{"Stop":[{"hooks":[]}]}}`, `{"description":"d","disableAllHooks":false}`} {
		f := parse(t, text)
		if len(f.Handlers)+len(f.Problems) > 0 || f.Disabled {
			t.Errorf("%s: handlers %v, problems %v, disabled %v", text, f.Handlers, f.Problems, f.Disabled)
		}
	}
}

func TestParseRejectsNonObjects(t *testing.T) {
	tests := map[string]struct {
		text         string
		line, column int
		want         string
	}{
		"empty":   {"", 1, 1, "the file is empty"},
		"a list":  {"\n [1]", 2, 2, "found an array, want an object"},
		"null":    {"null", 1, 1, "found null, want an object"},
		"comment": {"{\n  // x\n}", 2, 3, "found a comment"},
		"cut":     {`{"hooks":`, 1, 10, "ends too early"},
		"deep":    {`{"hooks":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + "}", 1, 10_009, "deep"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("/h/hooks.json", []byte(tt.text))
			var syntax *SyntaxError
			if !errors.As(err, &syntax) {
				t.Fatalf("error %v, want a *SyntaxError", err)
			}
			if syntax.Line != tt.line || syntax.Column != tt.column || !strings.Contains(syntax.Text, tt.want) {
				t.Errorf("%d:%d %q, want %d:%d %q", syntax.Line, syntax.Column, syntax.Text, tt.line, tt.column, tt.want)
			}
			if want := fmt.Sprintf(`hooks file "/h/hooks.json": line %d, column %d: `, tt.line, tt.column); !strings.HasPrefix(err.Error(), want) {
				t.Errorf("error %q, want it to begin with %q", err, want)
			}
		})
	}
}

// TestProblems has one fault per file, next to a good handler, which
// must run.
func TestProblems(t *testing.T) {
	const good = `{"type":"command","command":"good"}`
	in := func(event, handler string) string {
		return `{"hooks":{"` + event + `":[{"hooks":[` + "\n" + handler + ",\n" + good + `]}]}}`
	}
	tests := map[string]struct {
		text string
		want string
		// runs are the commands that run, "good" alone if nil.
		runs []string
	}{
		"no type":                       {in("Stop", `{"command":"x"}`), `2:1 Stop LOST the hook has no "type", want "command" or "http"`, nil},
		"unknown type":                  {in("Stop", `{"type":"shell","command":"x"}`), `2:9 Stop LOST unknown type "shell": want "command" or "http"`, nil},
		"type is a number":              {in("Stop", `{"type":1,"command":"x"}`), `2:9 Stop LOST "type" is 1, want a string`, nil},
		"no command":                    {in("Stop", `{"type":"command"}`), `2:1 Stop LOST the hook has no "command", want the command to run`, nil},
		"empty command":                 {in("Stop", `{"type":"command","command":" "}`), `2:29 Stop LOST "command" is empty, want the command to run`, nil},
		"zero character":                {in("Stop", `{"type":"command","command":"a\u0000"}`), `2:29 Stop LOST "command" contains a zero character, which no command may`, nil},
		"command is a list":             {in("Stop", `{"type":"command","command":["x"]}`), `2:29 Stop LOST "command" is an array, want a string`, nil},
		"args is a text":                {in("Stop", `{"type":"command","command":"x","args":"y"}`), `2:40 Stop LOST "args" is "y", want a list of strings`, nil},
		"args has a number":             {in("Stop", `{"type":"command","command":"x","args":["y",2]}`), `2:45 Stop LOST "args" is 2, want a list of strings`, nil},
		"unknown shell":                 {in("Stop", `{"type":"command","command":"x","shell":"zsh"}`), `2:41 Stop LOST unknown shell "zsh": want "bash" or "powershell"`, nil},
		"shell with args":               {in("Stop", `{"type":"command","command":"x","args":[],"shell":"zsh"}`), ``, []string{"x", "good"}},
		"handler is no object":          {in("Stop", `null`), `2:1 Stop LOST a hook of "Stop" is null, want an object with "type"`, nil},
		"timeout 0":                     {in("Stop", `{"type":"command","command":"x","timeout":0}`), `2:43 Stop "timeout" is 0, want a positive number of seconds; the default applies`, []string{"x", "good"}},
		"timeout is a text":             {in("Stop", `{"type":"command","command":"x","timeout":"5"}`), `2:43 Stop "timeout" is "5", want a positive number of seconds; the default applies`, []string{"x", "good"}},
		"async is a text":               {in("Stop", `{"type":"command","command":"x","async":"yes"}`), `2:41 Stop "async" is "yes", want true or false; it counts as false`, []string{"x", "good"}},
		"asyncRewake":                   {in("Stop", `{"type":"command","command":"x","asyncRewake":true}`), `2:47 Stop Cline does not support asyncRewake: the hook runs in the background, and its output is ignored`, []string{"x", "good"}},
		"unknown onFailure":             {in("Stop", `{"type":"command","command":"x","onFailure":"deny"}`), `2:45 Stop onFailure is "deny", want "block" or "continue"; it counts as "continue"`, []string{"x", "good"}},
		"if on an event without a tool": {in("Stop", `{"type":"command","command":"x","if":"Bash(rm *)"}`), `2:38 Stop LOST a hook with "if" runs on tool events only, as in Claude Code, and so never on "Stop": take the "if" out`, nil},
		"if is a list":                  {in("PreToolUse", `{"type":"command","command":"x","if":[]}`), `2:38 PreToolUse LOST "if" is an array, want a string`, nil},
		"member twice":                  {in("Stop", `{"type":"command","command":"x","command":"y"}`), `2:19 Stop "command" appears again further down, and only the last one counts: join them`, []string{"y", "good"}},
		"no url":                        {in("Stop", `{"type":"http"}`), `2:1 Stop LOST the hook has no "url", want an address that begins with http:// or https://`, nil},
		"url without http":              {in("Stop", `{"type":"http","url":"localhost:1/x"}`), `2:22 Stop LOST the url is "localhost:1/x", want an address that begins with http:// or https://`, nil},
		"headers is a list":             {in("Stop", `{"type":"http","url":"http://x","headers":[]}`), `2:43 Stop LOST "headers" is an array, want an object of strings`, nil},
		"header is a number":            {in("Stop", `{"type":"http","url":"http://x","headers":{"A":1}}`), `2:48 Stop LOST the header "A" is 1, want a string`, nil},
		"http on SessionStart":          {in("SessionStart", `{"type":"http","url":"http://x"}`), `2:1 SessionStart LOST http hooks do not run on SessionStart, as in Claude Code: use a command`, nil},
		"once":                          {in("Stop", `{"type":"command","command":"x","once":true}`), ``, []string{"x", "good"}},

		"group is a string":             {`{"hooks":{"Stop":["x",{"hooks":[` + good + `]}]}}`, `1:19 Stop LOST a group of "Stop" is "x", want an object with "matcher" and "hooks"`, nil},
		"group is a handler":            {`{"hooks":{"Stop":[{"type":"command","command":"x"},{"hooks":[` + good + `]}]}}`, `1:19 Stop LOST the hook is in the place of its group: write {"hooks": [...]} around it`, nil},
		"group without hooks":           {`{"hooks":{"Stop":[{"matcher":""},{"hooks":[` + good + `]}]}}`, `1:19 Stop LOST the group has no "hooks", want a list of hooks`, nil},
		"hooks of a group is an object": {`{"hooks":{"Stop":[{"hooks":{}},{"hooks":[` + good + `]}]}}`, `1:28 Stop LOST "hooks" is an object, want a list of hooks`, nil},
		"hooks twice in group": {
			`{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x"}],"hooks":[` + good + `]}]}}`,
			`1:20 Stop LOST "hooks" appears again further down, and only the last one counts: join them`, nil,
		},
		"matcher is a list": {
			`{"hooks":{"PreToolUse":[{"matcher":["Edit"],"hooks":[{"type":"command","command":"x"}]},{"hooks":[` + good + `]}]}}`,
			`1:36 PreToolUse LOST "matcher" is an array, want a string; the group does not run`, nil,
		},
		"matcher on an event without one": {
			`{"hooks":{"UserPromptSubmit":[{"matcher":"x","hooks":[` + good + `]}]}}`,
			`1:42 UserPromptSubmit [x] the matcher has no effect: UserPromptSubmit has none, so the hooks run each time`, nil,
		},
		"problem in a group with a matcher": {
			`{"hooks":{"PreToolUse":[{"hooks":[{"type":"x"},` + good + `],"matcher":"Edit"}]}}`,
			`1:43 PreToolUse [Edit] LOST unknown type "x": want "command" or "http"`, nil,
		},
		"list of groups is an object": {
			`{"hooks":{"PreToolUse":{"hooks":[]},"Stop":[{"hooks":[` + good + `]}]}}`,
			`1:24 PreToolUse LOST "PreToolUse" is an object, want a list of groups`, nil,
		},
		"misspelt event": {
			`{"hooks":{"preToolUse":[{"hooks":[` + good + `]}],"Stop":[{"hooks":[` + good + `]}]}}`,
			`1:11 preToolUse LOST unknown event "preToolUse": did you mean PreToolUse?`, nil,
		},
		"name of a hook of Cline": {
			`{"hooks":{"TaskComplete":[],"Stop":[{"hooks":[` + good + `]}]}}`,
			`1:11 TaskComplete LOST unknown event "TaskComplete": did you mean Stop?`, nil,
		},
		"unknown event": {
			`{"hooks":{"Birthday":[],"Stop":[{"hooks":[` + good + `]}]}}`,
			`1:11 Birthday LOST unknown event "Birthday": want one of Claude's events`, nil,
		},
		"event that Cline never gives": {
			`{"hooks":{"PermissionRequest":[{"hooks":[` + good + `]}],"Stop":[{"hooks":[` + good + `]}]}}`,
			`1:11 PermissionRequest LOST Cline never gives the event PermissionRequest; these hooks do not run here`, nil,
		},
		"event twice": {
			"{\"hooks\":{\n\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"x\"}]}],\"Stop\":[{\"hooks\":[" + good + `]}]}}`,
			`2:1 Stop LOST "Stop" appears again further down, and only the last one counts: join them`, nil,
		},
		"hooks twice": {
			`{"hooks":{"Stop":[]},"hooks":{"Stop":[{"hooks":[` + good + `]}]}}`,
			`1:2  LOST "hooks" appears again further down, and only the last one counts: join them`, nil,
		},
		"event outside of hooks": {
			"\ufeff" + `{"PreToolUse":[],"hooks":{"Stop":[{"hooks":[` + good + `]}]}}`,
			`1:2 PreToolUse LOST "PreToolUse" is outside of "hooks" and is not read: put it inside`, nil,
		},
		"disableAllHooks is a text": {
			`{"disableAllHooks":"yes","hooks":{"Stop":[{"hooks":[` + good + `]}]}}`,
			`1:20  disableAllHooks is "yes", want true or false; hooks run`, nil,
		},
		"hooks is a list": {`{"hooks":[]}`, `1:10  LOST "hooks" is an array, want an object with a list for each event`, []string{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := parse(t, tt.text)
			var want []string
			if tt.want != "" {
				want = []string{tt.want}
			}
			if diff := cmp.Diff(want, said(f)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			runs := []string{"good"}
			if tt.runs != nil {
				runs = tt.runs
			}
			got := []string{}
			for _, h := range f.Handlers {
				got = append(got, h.Command)
			}
			if diff := cmp.Diff(runs, got); diff != "" {
				t.Errorf("commands (-want +got):\n%s", diff)
			}
		})
	}
}

func TestProblemsKeepFileOrder(t *testing.T) {
	f := parse(t, "{\"hooks\":{\n \"Stop\": [\n  {\"hooks\": [{\"timeout\": -1, \"type\": \"x\", \"äö\": 1, \"if\": 2}]}, 3],\n \"Stopp\": 4}}")
	if diff := cmp.Diff([]string{
		`3:26 Stop "timeout" is -1, want a positive number of seconds; the default applies`,
		`3:38 Stop LOST unknown type "x": want "command" or "http"`,
		`3:58 Stop LOST "if" is 2, want a string`,
		`3:64 Stop LOST a group of "Stop" is 3, want an object with "matcher" and "hooks"`,
		`4:2 Stopp LOST unknown event "Stopp": did you mean Stop?`,
		`4:11 Stopp LOST "Stopp" is 4, want a list of groups`,
	}, said(f)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

// BenchmarkParse has as many problems as handlers, all on one line: the time per
// byte must not grow with the size.
func BenchmarkParse(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		text := []byte(`{"hooks":{"Stop":[{"hooks":[` + strings.Repeat(`{"type":"command","command":"x","timeout":0},`, n) + `null]}]}}`)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				f, err := Parse("", text)
				if err != nil || len(f.Problems) != n+1 || len(f.Handlers) != n {
					b.Fatalf("error %v", err)
				}
			}
		})
	}
}

// FuzzParse checks the promises of Parse for any file.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"claude-settings.json", "seed-cline-hooks.json"} {
		data, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"hooks":{"Stop":[{"hooks":[{"type":"http","url":"http://x","headers":{"a":"b"},"timeout":1e300}]}],"Stop":1}}`))
	f.Add([]byte("\ufeff{\"hooks\":{\"PreToolUse\":[{\"matcher\":1,\"hooks\":[{\"type\":\"command\",\"command\":\"\xff\"}]}]}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse("/h", data)
		if err != nil {
			var syntax *SyntaxError
			if !errors.As(err, &syntax) {
				t.Fatalf("error %v, want a *SyntaxError", err)
			}
			return
		}
		lines := strings.Count(string(data), "\n") + 1
		line := 0
		for _, h := range file.Handlers {
			if h.Line < line || h.Line > lines {
				t.Errorf("a handler on line %d after one on line %d of %d", h.Line, line, lines)
			}
			line = h.Line
			if !slices.Contains(Events(), h.Event) || h.Timeout < 0 || h.File != "/h" {
				t.Errorf("handler %+v", h)
			}
			if (h.Type == TypeCommand) == (h.Command == "") || (h.Type == TypeHTTP) == (h.URL == "") {
				t.Errorf("type %q, command %q, url %q", h.Type, h.Command, h.URL)
			}
			if s := Describe(h, h.Command); strings.ContainsAny(s, "\n\r\x1b") {
				t.Errorf("description %q", s)
			}
		}
		line, column := 0, 0
		for _, p := range file.Problems {
			if p.Line < line || p.Line == line && p.Column < column || p.Line > lines || p.Text == "" {
				t.Errorf("problem %+v after %d:%d", p, line, column)
			}
			line, column = p.Line, p.Column
		}
		if _, removed, err := Remove(data, func(Handler) bool { return false }); err != nil || len(removed) > 0 {
			t.Errorf("removing nothing: %v, %v", removed, err)
		}
	})
}
