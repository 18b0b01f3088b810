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

// records reports whether a hook starts the program that the tests take for
// hookspan's.
func records(h Handler) bool { return h.Command == "/b/claude-hook Stop" }

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
		"hooks switched off": {
			`{"disableAllHooks":true,"hooks":{"Stop":[{"hooks":[` + c + `]}]}}`,
			[]string{"1 Stop: c"},
			[]string{"disableAllHooks is set there: Claude Code does not run these hooks; Cline will"},
		},
		"once is dropped": {
			"{\"hooks\":{\n\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"c\",\"once\":true}]}]}}",
			[]string{"2 Stop: c"},
			[]string{`line 2: "once" is dropped: Claude Code ignores it in settings`},
		},
		"hooks that do not run on Cline": {
			`{"hooks":{"Stop":[{"hooks":[{"type":"prompt","prompt":"p"},` + "\n" + `{"type":"command","command":"$CLAUDE_PLUGIN_ROOT/c"}]}],"PermissionRequest":[{"hooks":[` + c + `]}]}}`,
			[]string{"2 Stop: $CLAUDE_PLUGIN_ROOT/c"},
			[]string{
				`line 1, column 37: hooks of type "prompt" do not run here: want "command" or "http"`,
				`line 2, column 57: Cline never gives the event PermissionRequest; these hooks do not run here`,
			},
		},
		"hookspan's recording hook": {
			`{"hooks":{"Stop":[{"hooks":[` + own + `,` + c + `]}]}}`,
			[]string{"1 Stop: c"},
			[]string{"left out 1 of the hooks, with which hookspan records Claude Code"},
		},
		// hookspan records more events than Cline has.
		"only hookspan's recording hook": {
			`{"hooks":{"PermissionRequest":[{"hooks":[` + own + `]}],"PostCompact":[{"hooks":[` + own + `]}]}}`, nil,
			[]string{"left out 2 of the hooks, with which hookspan records Claude Code"},
		},
		"hookspan's recording hook and another": {
			`{"hooks":{"PostCompact":[{"hooks":[` + own + `]},{"hooks":[` + c + `]}]}}`, nil,
			[]string{
				"line 1, column 11: Cline never gives the event PostCompact; these hooks do not run here",
				"left out 1 of the hooks, with which hookspan records Claude Code",
			},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f, notes, err := Import([]byte(tt.text), "/h/settings.json", records)
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
			// The result can be written to a hooks.json.
			for _, h := range f.Handlers {
				if _, changed, err := Add(nil, h); err != nil || !changed {
					t.Errorf("add %+v: changed %v, error %v", h, changed, err)
				}
			}
		})
	}
	_, _, err := Import([]byte("[]"), "/h/settings.json", records)
	var syntax *SyntaxError
	if !errors.As(err, &syntax) {
		t.Errorf("error %v, want a *SyntaxError", err)
	}
}

func TestImportSettingsOfClaudeCode(t *testing.T) {
	data, err := os.ReadFile("testdata/claude-settings.json")
	if err != nil {
		t.Fatal(err)
	}
	f, _, err := Import(data, "/h/settings.json", records)
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
