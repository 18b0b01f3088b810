package hookfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

var guard = Handler{Event: "PreToolUse", Matcher: "Bash", Type: TypeCommand, Command: "./guard.sh", Timeout: 10 * time.Second}

func TestAdd(t *testing.T) {
	anywhere := guard
	anywhere.Matcher, anywhere.Timeout = "", 0
	tests := map[string]struct {
		text string
		h    Handler
		want string
	}{
		"no file": {"", anywhere, `{
  "hooks": {
    "PreToolUse": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "./guard.sh"
          }
        ]
      }
    ]
  }
}
`},
		"no hooks": {"{\n\t\"model\": \"x\"\n}", guard, "{\n\t\"model\": \"x\",\n\t\"hooks\": {\n\t\t\"PreToolUse\": [\n\t\t\t{\n\t\t\t\t\"matcher\": \"Bash\",\n\t\t\t\t\"hooks\": [\n\t\t\t\t\t{\n\t\t\t\t\t\t\"type\": \"command\",\n\t\t\t\t\t\t\"command\": \"./guard.sh\",\n\t\t\t\t\t\t\"timeout\": 10\n\t\t\t\t\t}\n\t\t\t\t]\n\t\t\t}\n\t\t]\n\t}\n}"},
		"the group with the matcher": {
			`{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[]},{"hooks":[]},{"matcher":"Edit","hooks":[]}]}}`, guard,
			`{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"./guard.sh","timeout":10}]},{"hooks":[]},{"matcher":"Edit","hooks":[]}]}}`,
		},
		"the spellings of a matcher for everything": {
			`{"hooks":{"PreToolUse":[{"matcher":"*","hooks":[]}]}}`, anywhere,
			`{"hooks":{"PreToolUse":[{"matcher":"*","hooks":[{"type":"command","command":"./guard.sh"}]}]}}`,
		},
		"a broken group is left alone": {
			`{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":{}},1]}, "x" : 1.0}`, guard,
			`{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":{}},1, {"matcher":"Bash", "hooks":[{"type":"command", "command":"./guard.sh", "timeout":10}]}]}, "x" : 1.0}`,
		},
		"async and asyncRewake are the same": {
			`{"hooks":{"Stop":[{"matcher":"","hooks":[]}]}}`,
			Handler{Event: "Stop", Matcher: "*", Type: TypeCommand, Command: "c", AsyncRewake: true},
			`{"hooks":{"Stop":[{"matcher":"","hooks":[{"type":"command","command":"c","asyncRewake":true}]}]}}`,
		},
		"another timeout is another handler": {
			`{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"./guard.sh"}]}]}}`, guard,
			`{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"./guard.sh"},{"type":"command","command":"./guard.sh","timeout":10}]}]}}`,
		},
		"the last of two lists": {
			`{"hooks":{"Stop":[]},"hooks":{"PreToolUse":[],"PreToolUse":[]}}`, anywhere,
			`{"hooks":{"Stop":[]},"hooks":{"PreToolUse":[],"PreToolUse":[{"hooks":[{"type":"command","command":"./guard.sh"}]}]}}`,
		},
		"all settings of a command": {
			"{\n  \"hooks\": {}\n}",
			Handler{
				Event: "PostToolUse", Type: TypeCommand, Command: "c <&>", Args: []string{"a b", ""}, Shell: "bash", If: "Edit(*.ts)",
				Timeout: 1500 * time.Millisecond, Async: true, Once: true, BlockOnFailure: true,
			},
			`{
  "hooks": {
    "PostToolUse": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "c <&>",
            "args": [
              "a b",
              ""
            ],
            "shell": "bash",
            "if": "Edit(*.ts)",
            "timeout": 1.5,
            "async": true,
            "once": true,
            "onFailure": "block"
          }
        ]
      }
    ]
  }
}`,
		},
		"all settings of a request": {
			`{"a":1,"hooks":{"Stop":[]}}`,
			Handler{Event: "Stop", Type: TypeHTTP, URL: "http://127.0.0.1:1/", Headers: map[string]string{"B": "2", "A": "$T"}, AllowedEnvVars: []string{"T"}},
			`{"a":1,"hooks":{"Stop":[{"hooks":[{"type":"http","url":"http://127.0.0.1:1/","headers":{"A":"$T","B":"2"},"allowedEnvVars":["T"]}]}]}}`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			out, changed, err := Add([]byte(tt.text), tt.h)
			if err != nil || !changed {
				t.Fatalf("changed %v, error %v", changed, err)
			}
			if diff := cmp.Diff(tt.want, string(out)); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
			again, changed, err := Add(out, tt.h)
			if err != nil || changed || string(again) != string(out) {
				t.Errorf("a second time: changed %v, error %v, text %s", changed, err, again)
			}
		})
	}
}

func TestAddRefuses(t *testing.T) {
	tests := map[string]struct {
		text string
		h    Handler
		want string
	}{
		"no JSON":                      {"{", guard, "line 1, column 2: the file ends too early"},
		"no object":                    {"[]", guard, "found an array, want an object"},
		"hooks is a list":              {`{"hooks":[]}`, guard, `line 1, column 10: "hooks" is an array, want an object`},
		"event is a number":            {`{"hooks":{"PreToolUse":1}}`, guard, `line 1, column 24: "PreToolUse" is a number, want a list of groups`},
		"unknown event":                {"{}", Handler{Event: "PreTool", Type: TypeCommand, Command: "x"}, "did you mean PreToolUse?"},
		"event that Cline never gives": {"{}", Handler{Event: "WorktreeCreate", Type: TypeCommand, Command: "x"}, "Cline never gives"},
		"no command":                   {"{}", Handler{Event: "Stop", Type: TypeCommand}, `"command" is empty`},
		"unknown type":                 {"{}", Handler{Event: "Stop", Type: "prompt", Command: "x"}, "do not run here"},
		"a command with a url":         {"{}", Handler{Event: "Stop", Type: TypeCommand, Command: "x", URL: "http://x"}, "cannot be written to the file"},
		"an old fault is not the reason": {
			`{"hooks":{"Stop":[{"hooks":[{"type":"x"}]}]}}`, Handler{Event: "Stop", Type: TypeCommand, Command: "x", If: "Bash"}, `take the "if" out`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			out, changed, err := Add([]byte(tt.text), tt.h)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			if out != nil || changed {
				t.Errorf("text %q, changed %v", out, changed)
			}
		})
	}
}

func TestRemove(t *testing.T) {
	const x, y = `{"type":"command","command":"x"}`, `{"type":"command","command":"y"}`
	tests := map[string]struct {
		text, want string
		removed    int
	}{
		"no file":                     {"", "", 0},
		"nothing to remove":           {`{"hooks": {"Stop": [ ] } }`, `{"hooks": {"Stop": [ ] } }`, 0},
		"one of two":                  {`{"hooks":{"Stop":[{"hooks":[` + x + `, ` + y + `]}]}}`, `{"hooks":{"Stop":[{"hooks":[` + y + `]}]}}`, 1},
		"the last of a group":         {`{"hooks":{"Stop":[{"hooks":[` + x + `]}, {"hooks":[` + y + `]}]}}`, `{"hooks":{"Stop":[{"hooks":[` + y + `]}]}}`, 1},
		"the last of an event":        {`{"hooks":{"Stop":[{"hooks":[` + x + `]}], "PreCompact":[{"hooks":[` + y + `]}]}, "a": 1}`, `{"hooks":{"PreCompact":[{"hooks":[` + y + `]}]}, "a": 1}`, 1},
		"the last":                    {"\ufeff" + `{"hooks":{"Stop":[{"hooks":[` + x + `]}]}}`, "\ufeff" + `{"hooks":{}}`, 1},
		"several":                     {`{"hooks":{"Stop":[{"hooks":[` + x + `,` + y + `,` + x + `]},{"matcher":"m","hooks":[` + x + `]}],"PreToolUse":[{"hooks":[` + x + `]}]}}`, `{"hooks":{"Stop":[{"hooks":[` + y + `]}]}}`, 4},
		"a group that was empty":      {`{"hooks":{"PreCompact":[],"Stop":[{"hooks":[]},{"hooks":[` + x + `]}]}}`, `{"hooks":{"PreCompact":[],"Stop":[{"hooks":[]}]}}`, 1},
		"a handler that does not run": {`{"hooks":{"Nope":[{"hooks":[` + x + `]}],"Stop":[{"hooks":[{"type":"prompt","prompt":"p","command":"x"}]}]}}`, `{"hooks":{"Stop":[{"hooks":[{"type":"prompt","prompt":"p","command":"x"}]}]}}`, 1},
		"a doubled event stays off": {
			`{"hooks":{"Stop":[{"hooks":[` + x + `]}],"Stop":[{"hooks":[` + x + `]}]}}`,
			`{"hooks":{"Stop":[{"hooks":[` + x + `]}],"Stop":[]}}`, 1,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			out, removed, err := Remove([]byte(tt.text), func(h Handler) bool { return h.Command == "x" })
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(out)); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
			if len(removed) != tt.removed {
				t.Errorf("removed %v, want %d", removed, tt.removed)
			}
		})
	}
	if _, _, err := Remove([]byte("{,}"), func(Handler) bool { return true }); err == nil {
		t.Error("a file that is no JSON is taken")
	}
}

func TestRemoveReturnsRemovedHandlers(t *testing.T) {
	data, err := os.ReadFile("testdata/claude-settings.json")
	if err != nil {
		t.Fatal(err)
	}
	_, removed, err := Remove(data, func(h Handler) bool { return h.Type == TypeHTTP || h.Type == "agent" })
	if err != nil {
		t.Fatal(err)
	}
	want := []Handler{
		{
			Event: "PreToolUse", Matcher: "mcp__github__.*", Type: "http", URL: "http://127.0.0.1:8787/hook",
			Headers: map[string]string{"Authorization": "Bearer $HOOK_TOKEN"}, AllowedEnvVars: []string{"HOOK_TOKEN"},
			Timeout: 5 * time.Second, Line: 43,
		},
		{Event: "Stop", Type: "agent", Timeout: 2 * time.Minute, Line: 77},
	}
	if diff := cmp.Diff(want, removed); diff != "" {
		t.Errorf("removed (-want +got):\n%s", diff)
	}
}

// TestAddThenRemove draws handlers and puts them into a file one by one: each
// must be read back, and removing them must restore the file.
func TestAddThenRemove(t *testing.T) {
	start, err := os.ReadFile("testdata/claude-settings.json")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		text := start
		if rapid.Bool().Draw(t, "one line") {
			text = compact(start)
		}
		before, err := Parse("", text)
		if err != nil {
			t.Fatal(err)
		}
		word := rapid.StringMatching(`new[a-z "\\<é]{0,4}`)
		var added []Handler
		after := text
		for range rapid.IntRange(1, 4).Draw(t, "handlers") {
			h := Handler{
				Event:          rapid.SampledFrom(Events()).Draw(t, "event"),
				Matcher:        rapid.SampledFrom([]string{"", "*", "Bash", "Edit|Write", "new"}).Draw(t, "matcher"),
				Type:           TypeCommand,
				Command:        word.Draw(t, "command"),
				Timeout:        time.Duration(rapid.IntRange(0, 5000).Draw(t, "ms")) * time.Millisecond,
				Once:           rapid.Bool().Draw(t, "once"),
				BlockOnFailure: rapid.Bool().Draw(t, "block"),
			}
			if rapid.Bool().Draw(t, "exec") {
				h.Args = rapid.SliceOfN(word, 0, 2).Draw(t, "args")
			}
			out, changed, err := Add(after, h)
			if err != nil {
				t.Fatalf("add %+v: %v", h, err)
			}
			if changed {
				added = append(added, h)
			}
			after = out
		}
		f, err := Parse("", after)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := len(f.Handlers), len(before.Handlers)+len(added); got != want {
			t.Fatalf("%d handlers, want %d", got, want)
		}
		out, removed, err := Remove(after, func(h Handler) bool { return strings.HasPrefix(h.Command, "new") })
		if err != nil {
			t.Fatal(err)
		}
		if len(removed) != len(added) {
			t.Errorf("removed %d, added %d", len(removed), len(added))
		}
		if diff := cmp.Diff(string(text), string(out), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("text after removing (-before +after):\n%s", diff)
		}
	})
}

// BenchmarkRemove removes every hook: the time per byte must not grow with
// the size.
func BenchmarkRemove(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		text := []byte(`{"hooks":{"Stop":[{"hooks":[` + strings.Repeat(`{"type":"command","command":"x"},`, n) + `null]}]}}`)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				_, removed, err := Remove(text, func(Handler) bool { return true })
				if err != nil || len(removed) != n+1 {
					b.Fatalf("error %v", err)
				}
			}
		})
	}
}

// FuzzAddThenRemove adds a new handler to any file, and
// removes it again: the other handlers must not change.
func FuzzAddThenRemove(f *testing.F) {
	for _, name := range []string{"claude-settings.json", "seed-cline-hooks.json"} {
		data, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(""))
	f.Add([]byte("\ufeff \n"))
	f.Add([]byte(`{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[],"hooks":[1]},{"matcher":"Bash"}],"PreToolUse":[]}}`))
	f.Add([]byte(`{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"x"}]}]},"hooks":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		added := guard
		added.Command = "added by the test"
		ours := func(h Handler) bool { return h.Command == added.Command }
		out, changed, err := Add(data, added)
		if err != nil {
			return
		}
		before := &File{}
		if len(bytes.TrimSpace(withoutMark(data))) > 0 {
			before = parse(t, string(data))
		}
		if slices.ContainsFunc(before.Handlers, ours) {
			return // The drawn hook is in the drawn file already.
		}
		after := parse(t, string(out))
		if !changed || len(after.Handlers) != len(before.Handlers)+1 {
			t.Fatalf("changed %v, %d handlers, before %d", changed, len(after.Handlers), len(before.Handlers))
		}
		lines := cmpopts.IgnoreFields(Handler{}, "Line")
		if diff := cmp.Diff(before.Handlers, slices.DeleteFunc(after.Handlers, ours), lines, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("other handlers (-before +after):\n%s", diff)
		}
		rest, removed, err := Remove(out, ours)
		if err != nil || len(removed) == 0 {
			t.Fatalf("removed %v, error %v", removed, err)
		}
		if diff := cmp.Diff(before.Handlers, parse(t, string(rest)).Handlers, lines, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("handlers after removing (-before +after):\n%s", diff)
		}
	})
}

// compact is the text on one line.
func compact(text []byte) []byte {
	var b bytes.Buffer
	if json.Compact(&b, text) != nil {
		return nil
	}
	return b.Bytes()
}
