package record

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/claude"
	"github.com/hookspan/hookspan/internal/agents"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/testkit/hooktest"
	"github.com/hookspan/hookspan/internal/testkit/skip"
)

// facts are what the mapping needs of an event without texts.
func facts(events []hook.Event) (out []any) {
	for _, e := range events {
		one := []any{e.Kind, e.Name, e.Session, e.Agent, e.Turn, e.Model, e.Cwd, e.Transcript}
		if e.Tool != nil {
			one = append(one, e.Tool.Name, e.Tool.ID, e.Tool.Duration)
		}
		out = append(out, one)
	}
	return out
}

// TestTextlessPayloadKeepsEventsAndNoTexts takes the texts out of recorded payloads.
func TestTextlessPayloadKeepsEventsAndNoTexts(t *testing.T) {
	sentence := regexp.MustCompile(`^[^/~].* .*`)
	for _, a := range agents.All() {
		agent, decode := a.Word, a.Decode
		n := 0
		check := func(path, event string, payload []byte) {
			n++
			without := withoutTexts(payload)
			if rawjson.Check(without) != nil {
				t.Fatalf("%s: not JSON: %s", path, without)
			}
			raw := hook.Raw{Payload: payload, Event: event, Cwd: "/p"}
			want, err := decode(raw)
			if err != nil || strings.Contains(string(payload), `"tool":"invalid"`) {
				return // opencode and its forks name the tool in the input
			}
			raw.Payload = without
			got, _ := decode(raw)
			if diff := cmp.Diff(facts(want), facts(got)); diff != "" {
				t.Errorf("%s %s: a member that the mapping needs is missing from wordNames: (-whole +without texts)\n%s", path, event, diff)
			}
			var any any
			_ = json.Unmarshal(without, &any)
			walkStrings(any, func(s string) {
				if sentence.MatchString(s) {
					t.Errorf("%s: still has %q", path, s)
				}
			})
		}
		err := filepath.WalkDir("../../hook/"+agent+"/testdata", func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && (d.Name() == "golden" || d.Name() == "tables" || d.Name() == "legacy" || d.Name() == "fuzz"):
				return fs.SkipDir
			case !strings.HasSuffix(path, "json"):
				return nil
			}
			data, err := os.ReadFile(path)
			event, _, _ := strings.Cut(filepath.Base(path), ".")
			if _, after, ok := strings.Cut(event, "-"); ok {
				event = after
			}
			if strings.HasSuffix(path, ".ndjson") {
				for line := range strings.Lines(string(data)) {
					var one struct {
						Event   string
						Payload json.RawMessage
					}
					if json.Unmarshal([]byte(line), &one) == nil && len(one.Payload) > 0 {
						check(path, one.Event, one.Payload)
					}
				}
			} else if rawjson.Check(data) == nil {
				check(path, event, data)
			}
			return err
		})
		if err != nil || n == 0 {
			t.Errorf("%s: %d payloads: %v", agent, n, err)
		}
	}
}

func walkStrings(v any, f func(string)) {
	switch v := v.(type) {
	case string:
		f(v)
	case []any:
		for _, x := range v {
			walkStrings(x, f)
		}
	case map[string]any:
		for k, x := range v {
			f(k)
			walkStrings(x, f)
		}
	}
}

// TestManagedMachineKeepsNoTexts stores events under a machine-wide file that asks for
// none, whatever the environment asks for.
func TestManagedMachineKeepsNoTexts(t *testing.T) {
	if os.Geteuid() != 0 {
		skip.Missing(t, "only root has a machine-wide file")
	}
	for name, tt := range map[string]struct{ payload, want string }{
		"a prompt": {
			`{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":"my s3cret","x":{"id":"a b"}}`,
			`{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":"-","x":{"id":"-"}}`,
		},
		"a call": {
			`{"session_id":"s","tool_name":"Bash","tool_input":{"s3cret key":"v","id":"s3cret","n":1},"tool_response":{"status":"ok","x":"s3cret"}}`,
			`{"session_id":"s","tool_name":"Bash","tool_input":{"-":"-","id":"-","n":1},"tool_response":{"status":"ok","x":"-"}}`,
		},
		"no JSON": {`my s3cret`, ``},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCall(t)
			c.Agent = Agent{Facts: hook.AgentOf(hook.HostClaude), Peek: claude.PeekIn(hooktest.NoEnviron)}
			c.MachineFile = c.path("machine.env")
			if err := os.WriteFile(c.MachineFile, []byte("HOOKSPAN_MANAGED=true\nHOOKSPAN_CAPTURE=none\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			c.Environ = append(c.Environ, "HOOKSPAN_CAPTURE=full")
			c.Stdin = strings.NewReader(tt.payload)
			c.Run()
			var got []string
			for _, r := range c.records() {
				got = append(got, string(r.Payload))
			}
			if diff := cmp.Diff([]string{tt.want}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
