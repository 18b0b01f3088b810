package claude

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/jsonedit"
)

func TestHandlerOwnership(t *testing.T) {
	tests := map[string]struct {
		text    string
		ours    bool
		program string
		words   []string
	}{
		"exec form":          {`{"type":"command","command":"/a b/claude-hook","args":["Stop"]}`, true, "/a b/claude-hook", []string{"Stop"}},
		"shell form":         {`{"type":"command","command":"'/it'\\''s/claude-hook' Stop"}`, true, "/it's/claude-hook", []string{"Stop"}},
		"double quotes":      {`{"type":"command","command":"\"/a b/claude-hook\"  Stop "}`, true, "/a b/claude-hook", []string{"Stop"}},
		"quoted space":       {`{"type":"command","command":"/a\\ b/claude-hook Stop"}`, true, "/a b/claude-hook", []string{"Stop"}},
		"Windows path":       {`{"type":"command","command":"C:\\hooks\\claude-hook.exe Stop"}`, true, `C:\hooks\claude-hook.exe`, []string{"Stop"}},
		"env":                {`{"type":"command","command":"/usr/bin/env","args":["GOMEMLIMIT=","GODEBUG=","/a b/claude-hook","Stop"]}`, true, "/a b/claude-hook", []string{"Stop"}},
		"env by itself":      {`{"type":"command","command":"/usr/bin/env"}`, false, "/usr/bin/env", nil},
		"env of another":     {`{"type":"command","command":"env","args":["A=1","mine","Stop"]}`, false, "mine", []string{"Stop"}},
		"variable and exec":  {`{"type":"command","command":"GOMEMLIMIT= GODEBUG= exec '/x/claude-hook' Stop"}`, true, "/x/claude-hook", []string{"Stop"}},
		"name alone":         {`{"type":"command","command":"claude-hook"}`, true, "claude-hook", nil},
		"last double counts": {`{"type":"command","command":"x","command":"claude-hook"}`, true, "claude-hook", nil},
		"flags":              {`{"type":"command","command":"claude-hook --port 3043"}`, false, "claude-hook", []string{"--port", "3043"}},
		"flags in args":      {`{"type":"command","command":"claude-hook","args":["--port","3043"]}`, false, "claude-hook", []string{"--port", "3043"}},
		"interpreter":        {`{"type":"command","command":"node claude-hook"}`, false, "node", []string{"claude-hook"}},
		"PowerShell":         {`{"type":"command","command":"& 'C:\\it''s\\claude-hook.exe' copilot Stop ; exit 0"}`, true, `C:\it's\claude-hook.exe`, []string{"copilot", "Stop"}},
		"cmd":                {`{"type":"command","command":"\"C:\\a b\\claude-hook.exe\" codex Stop"}`, true, `C:\a b\claude-hook.exe`, []string{"codex", "Stop"}},
		"longer name":        {`{"type":"command","command":"/x/my-claude-hook Stop"}`, false, "/x/my-claude-hook", []string{"Stop"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			root, err := jsonedit.Parse([]byte(tt.text))
			if err != nil {
				t.Fatal(err)
			}
			h, ok := parseHandler([]byte(tt.text), root)
			if !ok || h.installed() != tt.ours || h.program != tt.program || len(h.words) != len(tt.words) {
				t.Fatalf("read %+v, %v; ours %v", h, ok, h.installed())
			}
			if diff := cmp.Diff(tt.words, h.words, cmp.Transformer("nil", func(s []string) []string { return append([]string{}, s...) })); diff != "" {
				t.Errorf("words (-want +got):\n%s", diff)
			}
		})
	}
	for _, text := range []string{
		`null`, `{}`, `{"command":"claude-hook"}`, `{"type":"http","command":"claude-hook"}`, `{"type":"command"}`,
		`{"type":"command","command":""}`, `{"type":"command","command":7}`, `{"type":"command","command":"claude-hook","args":"Stop"}`,
		`{"type":"command","command":"claude-hook","async":"yes"}`,
	} {
		root, err := jsonedit.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if h, ok := parseHandler([]byte(text), root); ok {
			t.Errorf("%s taken for a command: %+v", text, h)
		}
	}
}

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
			v, known := parseVersion(tt.version)
			got := newWanted(tt.goos, tt.binary, v, known, false).render(hookEvent{name: "Stop"}, "", nil)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("handler (-want +got):\n%s", diff)
			}
		})
	}
}

// TestHandlerOnWindows writes the commands that each agent's shell starts there, and
// finds them installed.
func TestHandlerOnWindows(t *testing.T) {
	const simple, hard = `C:\hookspan\claude-hook.exe`, `C:\it's me\claude-hook.exe`
	tests := map[string]struct {
		of           *product
		binary, want string
	}{
		"Gemini CLI":         {geminiCLI(), simple, `& 'C:\hookspan\claude-hook.exe' gemini AfterTool`},
		"Gemini CLI, quote":  {geminiCLI(), hard, `& 'C:\it''s me\claude-hook.exe' gemini AfterTool`},
		"GitHub Copilot CLI": {copilotCLI(), hard, `& 'C:\it''s me\claude-hook.exe' copilot preToolUse ; exit 0`},
		"Codex":              {codex(), simple, `C:\hookspan\claude-hook.exe codex Stop`},
		"Codex, quote":       {codex(), hard, `"C:\it's me\claude-hook.exe" codex Stop`},
		"Qwen Code":          {qwenCode(), simple, `C:\hookspan\claude-hook.exe qwen Stop`},
		"Claude Code":        {claudeCode(), hard, `'C:/it'\''s me/claude-hook.exe' Stop`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			words := strings.Fields(tt.want)
			event := words[len(words)-1]
			if tt.of.strict {
				event = words[len(words)-4]
			}
			ev, ok := tt.of.event(event)
			if !ok {
				t.Fatalf("no event %s", event)
			}
			w := tt.of.wanted("windows", tt.binary)
			text := jsonedit.Style{Colon: ":", Comma: ","}.Render(w.render(ev, "", nil), "")
			root, err := jsonedit.Parse([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			if got, want := string(root.Get("command").Raw([]byte(text))), jsonedit.Quote(tt.want); got != want {
				t.Errorf("%s, want %s", got, want)
			}
			h, ok := parseHandler([]byte(text), root)
			if state, reason := w.judge(h, event, ""); !ok || !h.installed() || state != install.StateInstalled {
				t.Errorf("read %+v: %s %s", h, state, reason)
			}
		})
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
