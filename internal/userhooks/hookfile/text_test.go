package hookfile

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestChange(t *testing.T) {
	to := func(s string) *string { return &s }
	list := func(s ...string) *[]string { return &s }
	limit := func(d time.Duration) *time.Duration { return &d }
	yes, no := true, false
	const text = `{ "x": 1e2,
  "hooks": { "PreToolUse": [
    {"matcher":  "Bash", "hooks": [
      {"type":"command","command":"a", "statusMessage": "é"},
      {"type":"command","command":"b","timeout":5.0,"async":true}]},
    { "hooks": [{"type":"command", "command":"c", "args":["1"]}] } ],
    "Stop":[{"hooks":[{"type":"http","url":"http://h/"}]}]
  } }
`
	for name, tt := range map[string]struct {
		i         int
		c         Change
		old, want string
	}{
		"nothing":                           {0, Change{}, "", ""},
		"the same":                          {0, Change{Event: to("PreToolUse"), Matcher: to("Bash"), Command: to("a")}, "", ""},
		"the command":                       {0, Change{Command: to(`say "é"`)}, `"command":"a"`, `"command":"say \"é\""`},
		"a time limit where there was":      {1, Change{Timeout: limit(1500 * time.Millisecond)}, `5.0`, `1.5`},
		"a time limit where there was none": {0, Change{Timeout: limit(10 * time.Second)}, `"statusMessage": "é"}`, `"statusMessage": "é", "timeout": 10}`},
		"no time limit":                     {1, Change{Timeout: limit(0)}, `,"timeout":5.0`, ``},
		"not in the background":             {1, Change{Async: &no}, `,"async":true`, ``},
		"in the background":                 {2, Change{Async: &yes}, `"args":["1"]}`, `"args":["1"], "async": true}`},
		"a rule":                            {2, Change{If: to("Bash(rm *)")}, `"args":["1"]}`, `"args":["1"], "if": "Bash(rm *)"}`},
		"the arguments":                     {2, Change{Args: list("1", "2 3")}, `["1"]`, `["1", "2 3"]`},
		"the address":                       {3, Change{URL: to("https://h/")}, `http://h/`, `https://h/`},
		"the matcher of a group alone":      {2, Change{Matcher: to("Edit")}, `{ "hooks": [{"type":"command", "command":"c"`, `{ "matcher": "Edit", "hooks": [{"type":"command", "command":"c"`},
		"no matcher":                        {2, Change{Matcher: to("*")}, "", ""},
		"the matcher of one of two": {
			0, Change{Matcher: to("Edit")}, `
      {"type":"command","command":"a", "statusMessage": "é"},
      {"type":"command","command":"b","timeout":5.0,"async":true}]},
    { "hooks": [{"type":"command", "command":"c", "args":["1"]}] } ],`, `
      {"type":"command","command":"b","timeout":5.0,"async":true}]},
    { "hooks": [{"type":"command", "command":"c", "args":["1"]}] },
    {
      "matcher": "Edit",
      "hooks": [
        {"type":"command","command":"a", "statusMessage": "é"}
      ]
    } ],`,
		},
		"the matcher to that of another group": {
			1, Change{Matcher: to("")}, `,
      {"type":"command","command":"b","timeout":5.0,"async":true}]},
    { "hooks": [{"type":"command", "command":"c", "args":["1"]}] } ]`, `]},
    { "hooks": [{"type":"command", "command":"c", "args":["1"]}, {"type":"command","command":"b","timeout":5.0,"async":true}] } ]`,
		},
		"the event": {
			2, Change{Event: to("Stop")}, `,
    { "hooks": [{"type":"command", "command":"c", "args":["1"]}] } ],
    "Stop":[{"hooks":[{"type":"http","url":"http://h/"}]}]`, ` ],
    "Stop":[{"hooks":[{"type":"http","url":"http://h/"}, {"type":"command", "command":"c", "args":["1"]}]}]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Text{Data: []byte(text)}.Change(tt.i, tt.c)
			if err != nil {
				t.Fatal(err)
			}
			want := text
			if tt.old != "" {
				want = replaceOnce(t, text, tt.old, tt.want)
			}
			if diff := cmp.Diff(want, string(got)); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
		})
	}
	for _, i := range []int{-1, 4} {
		if _, err := (Text{Data: []byte(text)}).Change(i, Change{Command: to("x")}); err == nil {
			t.Errorf("hook %d was changed", i)
		}
		if _, _, err := (Text{Data: []byte(text)}).Cut([]int{i}); err == nil {
			t.Errorf("hook %d was cut", i)
		}
	}
}

func replaceOnce(t *testing.T, text, old, with string) string {
	t.Helper()
	before, after, found := strings.Cut(text, old)
	if !found {
		t.Fatalf("the text has no %s", old)
	}
	return before + with + after
}

// TestEntriesOfClaude: Claude Code runs what Cline does not.
func TestEntriesOfClaude(t *testing.T) {
	data := []byte(`{"hooks":{
  "PostToolBatch":[{"matcher":"x","hooks":[{"type":"command","command":"a"}]}],
  "PermissionRequest":[{"hooks":[{"type":"prompt","prompt":"?","if":"Bash(rm *)"}]}],
  "Stop":[{"hooks":[{"type":"command","command":"b","asyncRewake":true},{"type":"command"}]}],
  "Stopp":[{"hooks":[{"type":"command","command":"c"}]}]}}`)
	for claude, want := range map[bool][]bool{true: {true, true, true, false, false}, false: {false, false, true, false, false}} {
		entries, err := Text{Data: data, Claude: claude}.Entries()
		if err != nil {
			t.Fatal(err)
		}
		var got []bool
		for i, e := range entries {
			got = append(got, e.Runs)
			if wantLine := []int{2, 3, 4, 4, 5}[i]; e.Line != wantLine {
				t.Errorf("hook %d is in line %d, want %d", i, e.Line, wantLine)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Claude Code %v, hooks that run (-want +got):\n%s", claude, diff)
		}
	}
	f, err := ParseClaude("settings.json", data)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, p := range f.Problems {
		texts = append(texts, p.Text)
	}
	want := []string{
		"the matcher has no effect: PostToolBatch has none, so the hooks run each time",
		`the hook has no "command", want the command to run`,
		`unknown event "Stopp": did you mean Stop?`,
	}
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestCutAndInsertOfABlankText(t *testing.T) {
	for _, data := range []string{"", " \n", "{}", `{"hooks":{}}`} {
		text := Text{Data: []byte(data)}
		if out, gaps, err := text.Cut(nil); err != nil || len(gaps) > 0 {
			t.Errorf("%q: cut %q, %v, %v", data, out, gaps, err)
		}
		out, err := text.Insert("Stop", "", []byte(`{"type":"command","command":"a"}`))
		if err != nil {
			t.Fatal(err)
		}
		if f, err := Parse("", out); err != nil || len(f.Handlers) != 1 {
			t.Errorf("%q: %s, %v", data, out, err)
		}
	}
	if _, err := (Text{Data: []byte(`{"hooks":[]}`)}).Insert("Stop", "", nil); err == nil {
		t.Error("a hook was put into an array")
	}
}
