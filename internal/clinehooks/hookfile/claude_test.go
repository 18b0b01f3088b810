package hookfile

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func problemLines(f *File) []string {
	var out []string
	for _, p := range f.Problems {
		out = append(out, fmt.Sprintf("line %d, column %d: %s", p.Line, p.Column, p.Text))
	}
	return out
}

func TestImport(t *testing.T) {
	const c, own = `{"type":"command","command":"c"}`, `{"type":"command","command":"/b/claude-hook Stop"}`
	tests := map[string]struct {
		text string
		// runs are the handlers, described.
		runs  []string
		notes []string
	}{
		"nothing": {`{"model":"x"}`, nil, nil},
		"hooks and other settings": {
			"\ufeff" + `{"model":"x","hooks":{"Stop":[{"hooks":[` + c + `]}]}}`, []string{"1 Stop: c"}, nil,
		},
		"switched off there": {
			`{"disableAllHooks":true,"hooks":{"Stop":[{"hooks":[` + c + `]}]}}`,
			[]string{"1 Stop: c"},
			[]string{"disableAllHooks is set there: Claude Code does not run these hooks; Cline will"},
		},
		"once is ignored there": {
			"{\"hooks\":{\n\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"c\",\"once\":true}]}]}}",
			[]string{"2 Stop: c"},
			[]string{`line 2: "once" is dropped: Claude Code ignores it in settings`},
		},
		"what does not run here": {
			`{"hooks":{"Stop":[{"hooks":[{"type":"prompt","prompt":"p"},` + "\n" + `{"type":"command","command":"$CLAUDE_PLUGIN_ROOT/c"}]}],"PermissionRequest":[{"hooks":[` + c + `]}]}}`,
			[]string{"2 Stop: $CLAUDE_PLUGIN_ROOT/c"},
			[]string{
				`line 1, column 37: hooks of type "prompt" do not run here: want "command" or "http"`,
				`line 2, column 57: Cline never gives the event PermissionRequest; these hooks do not run here`,
			},
		},
		"hookspan's own": {
			`{"hooks":{"Stop":[{"hooks":[` + own + `,` + c + `]}]}}`,
			[]string{"1 Stop: c"},
			[]string{"left out what hookspan itself has there to record Claude Code: 1 of the hooks"},
		},
		// It records more events than Cline gives.
		"hookspan's own and nothing else": {
			`{"hooks":{"PermissionRequest":[{"hooks":[` + own + `]}],"PostCompact":[{"hooks":[` + own + `]}]}}`, nil,
			[]string{"left out what hookspan itself has there to record Claude Code: 2 of the hooks"},
		},
		"hookspan's own beside another": {
			`{"hooks":{"PostCompact":[{"hooks":[` + own + `]},{"hooks":[` + c + `]}]}}`, nil,
			[]string{
				"line 1, column 11: Cline never gives the event PostCompact; these hooks do not run here",
				"left out what hookspan itself has there to record Claude Code: 1 of the hooks",
			},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f, notes, err := Import([]byte(tt.text), "/h/settings.json")
			if err == nil {
				notes = append(problemLines(f), notes...)
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.runs, run(f)); diff != "" {
				t.Errorf("handlers (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.notes, notes); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
			if f.Disabled || f.Path != "/h/settings.json" {
				t.Errorf("disabled %v, path %q", f.Disabled, f.Path)
			}
			// What is given can be written into a hooks.json.
			for _, h := range f.Handlers {
				if _, changed, err := Add(nil, h); err != nil || !changed {
					t.Errorf("add %s: changed %v, error %v", Describe(h), changed, err)
				}
			}
		})
	}
	_, _, err := Import([]byte("[]"), "/h/settings.json")
	var syntax *SyntaxError
	if !errors.As(err, &syntax) || syntax.Path != "/h/settings.json" {
		t.Errorf("error %v, want a *SyntaxError", err)
	}
}

func TestImportSettingsOfClaudeCode(t *testing.T) {
	data, err := os.ReadFile("testdata/claude-settings.json")
	if err != nil {
		t.Fatal(err)
	}
	f, _, err := Import(data, "/h/settings.json")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(parse(t, string(data)).Handlers, f.Handlers, cmp.FilterPath(
		func(p cmp.Path) bool { return p.Last().String() == ".File" }, cmp.Ignore(),
	)); diff != "" {
		t.Errorf("handlers (-parsed +imported):\n%s", diff)
	}
	if notes := problemLines(f); len(notes) != 3 {
		t.Errorf("notes %q, want those on the three hooks of other types", notes)
	}
}

func TestRecorder(t *testing.T) {
	shell := func(line string) Handler { return Handler{Type: TypeCommand, Command: line} }
	program := func(command string, args ...string) Handler {
		return Handler{Type: TypeCommand, Command: command, Args: append([]string{}, args...)}
	}
	tests := map[string]struct {
		h    Handler
		want bool
	}{
		"by name":                  {shell("claude-hook"), true},
		"with an event":            {shell("/home/x/bin/claude-hook Stop"), true},
		"with an event to come":    {shell("/home/x/bin/claude-hook TeaBreak"), true},
		"as installed":             {shell("GOMEMLIMIT= GODEBUG= exec '/home/x y/claude-hook' Stop"), true},
		"under a quote":            {shell(`GOMEMLIMIT= exec '/home/o'\''neil/claude-hook' Stop`), true},
		"on Windows":               {shell(`"C:\Program Files\claude-hook.exe" Stop`), true},
		"a program":                {program("/b/claude-hook", "Stop"), true},
		"a program with a space":   {program("/b c/claude-hook"), true},
		"a program as installed":   {program("/usr/bin/env", "GOMEMLIMIT=", "GODEBUG=", "/b/claude-hook", "Stop"), true},
		"with a flag":              {shell("claude-hook --port 3043"), false},
		"with one flag":            {program("claude-hook", "--bridge"), false},
		"somebody else's variable": {shell("A=1 claude-hook Stop"), false},
		"in a pipe":                {shell("claude-hook Stop | tee log"), false},
		"of a similar name":        {shell("my-claude-hook Stop"), false},
		"a package of npm":         {shell("npx claude-hook Stop"), false},
		"env alone":                {program("/usr/bin/env"), false},
		"variables alone":          {shell("A= B="), false},
		"nothing":                  {shell(""), false},
		"a request":                {Handler{Type: TypeHTTP, URL: "claude-hook", Command: "claude-hook"}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := recorder(tt.h); got != tt.want {
				t.Errorf("hookspan's own: %v, want %v", got, tt.want)
			}
		})
	}
}
