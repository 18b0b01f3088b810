package opencode

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
)

var update = flag.Bool("update", false, "write the golden files anew")

// recorded reads the payloads of a recording, each with the time it came.
func recorded(t testing.TB, file string) (raws []hook.Raw) {
	t.Helper()
	lines, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(lines) {
		var row struct {
			TS      int64
			Payload json.RawMessage
		}
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatal(err)
		}
		raws = append(raws, hook.Raw{Payload: row.Payload, StoredAt: time.Unix(0, row.TS).UTC(), Offset: int64(len(raws)), Cwd: "/started/here"})
	}
	return raws
}

func recordings(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.ndjson")
	if err != nil || len(files) != 5 {
		t.Fatalf("recordings %q, %v; want 5", files, err)
	}
	return files
}

// TestGolden decodes every recorded payload.
func TestGolden(t *testing.T) {
	type golden struct {
		Kind string
		hook.Event
	}
	for _, file := range recordings(t) {
		name := strings.TrimSuffix(filepath.Base(file), ".ndjson")
		t.Run(name, func(t *testing.T) {
			var all []golden
			for _, r := range recorded(t, file) {
				events, err := Decode(r)
				if err != nil {
					t.Fatal(err)
				}
				checkEvents(t, r, events, err)
				for _, ev := range events {
					if ev.Kind != hook.KindAside {
						all = append(all, golden{ev.Kind.String(), ev})
					}
				}
			}
			got, err := rawjson.MarshalIndent(all, "  ")
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, '\n')
			path := filepath.Join("testdata", "golden", name+".json")
			if *update {
				if err := os.WriteFile(path, got, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("%s (-want +got); -update writes it anew:\n%s", path, diff)
			}
		})
	}
}

// checkEvents holds what every decoded event must be, whatever the payload.
func checkEvents(t *testing.T, r hook.Raw, events []hook.Event, err error) {
	t.Helper()
	head := Peek(r.Payload, r.Event)
	first := &events[0]
	if head.Session != first.Session || head.Name != first.Name || head.Kind != first.Kind {
		t.Fatalf("Peek gave %+v for the event %+v", head, first)
	}
	if err != nil && (first.Kind != hook.KindUnknown || len(events) != 1) {
		t.Fatalf("events %+v with error %v", events, err)
	}
	ends := false
	for i := range events {
		ev := &events[i]
		ends = ends || ev.Kind.Terminal() && ev.Agent == ""
		texts := []string{ev.Session, ev.Turn, ev.Agent, ev.AgentType, ev.Model, ev.Prompt, ev.Result, ev.Message, ev.Key}
		hasTool := ev.Kind == hook.KindToolStart || ev.Kind == hook.KindToolEnd || ev.Kind == hook.KindPermission
		if hasTool != (ev.Tool != nil) {
			t.Fatalf("kind %v with tool %v", ev.Kind, ev.Tool)
		}
		if tool := ev.Tool; tool != nil {
			texts = append(texts, tool.ID, tool.Name, tool.Output, tool.Error, tool.Agent)
			if tool.Input != "" && !json.Valid([]byte(tool.Input)) {
				t.Fatalf("input %q is not JSON", tool.Input)
			}
			if tool.Status == hook.ToolOK && tool.Error != "" {
				t.Fatalf("error %q of a call that went well", tool.Error)
			}
		}
		for _, s := range texts {
			if !utf8.ValidString(s) {
				t.Fatalf("text %q is not UTF-8", s)
			}
		}
		if (ev.Agent != "") != (ev.ParentAgent != "") {
			t.Fatalf("agent %q with parent %q", ev.Agent, ev.ParentAgent)
		}
	}
	if head.RunEnds != ends {
		t.Fatalf("Peek says that a run ends: %v, the events: %v", head.RunEnds, ends)
	}
}

func FuzzDecode(f *testing.F) {
	for _, file := range recordings(f) {
		for _, r := range recorded(f, file) {
			f.Add([]byte(r.Payload), r.Event)
		}
	}
	f.Add([]byte(`{"session":"s","type":"session.idle","error":{"name":"APIError"}}`), "")
	f.Add([]byte(""), "")
	f.Fuzz(func(t *testing.T, payload []byte, event string) {
		r := hook.Raw{Payload: payload, Event: strings.ToValidUTF8(event, "")}
		events, err := Decode(r)
		checkEvents(t, r, events, err)
		again, _ := Decode(r)
		if diff := cmp.Diff(events, again); diff != "" {
			t.Fatalf("a second time (-first +second):\n%s", diff)
		}
	})
}

// TestWhatAnEventMeans has each kind of event, and the ends of tools and turns.
func TestWhatAnEventMeans(t *testing.T) {
	tool := func(tool, state string) string {
		return `"type":"message.part.updated","part":{"type":"tool","id":"prt_1","callID":"c1","tool":"` + tool + `","state":{` + state + `}}`
	}
	ended := `"time":{"start":1000,"end":1250}`
	for payload, want := range map[string]hook.Event{
		`"type":"session.created","version":"1.18.33"`: {Kind: hook.KindSessionStart, HostVersion: "1.18.33"},
		`"type":"message.part.updated","part":{"type":"text","text":"go"},"message":{"id":"msg_1","model":{"providerID":"p","modelID":"m"}}`: {
			Kind: hook.KindPrompt, Prompt: "go", Key: "prompt/msg_1", Provider: "p", Model: "m",
		},
		`"agent":"ses_2","agent_type":"general","type":"message.part.updated","part":{"type":"text","text":"go"}`: {
			Kind: hook.KindRunStart, Prompt: "go", Agent: "ses_2", AgentType: "general", ParentAgent: hook.ParentUnknown,
		},
		`"agent":"ses_3","parent":"ses_2","type":"session.idle","text":"done"`: {
			Kind: hook.KindRunComplete, Result: "done", Agent: "ses_3", ParentAgent: "ses_2",
		},
		`"type":"message.part.updated","part":{"type":"file"}`: {Kind: hook.KindAside},
		`"type":"session.idle","turn":"msg_1","text":"done"`:   {Kind: hook.KindRunComplete, Result: "done", Key: "end/msg_1", Turn: "msg_1"},
		`"type":"session.idle","text":"so far","error":{"name":"MessageAbortedError","data":{"message":"Aborted"}}`: {
			Kind: hook.KindRunCancel, ErrorType: "MessageAbortedError", Message: "Aborted",
		},
		`"type":"session.idle","error":{"name":"APIError","data":{"message":"no","statusCode":400}}`: {
			Kind: hook.KindRunError, ErrorType: "APIError", Message: "no",
		},
		`"type":"session.compacted"`:                   {Kind: hook.KindCompact},
		`"type":"permission.replied","reply":"reject"`: {Kind: hook.KindNote, Message: "permission: reject"},
		`"type":"hookspan.stream_ended"`:               {Kind: hook.KindSessionEnd},
		`"type":"todo.updated"`:                        {Kind: hook.KindUnknown},
		tool("bash", `"status":"running","input":{"b":1,"a":2},"time":{"start":1000}`): {
			Kind: hook.KindToolStart, Key: "tool_start/prt_1", Tool: &hook.Tool{ID: "c1", Name: "bash", Input: `{"a":2,"b":1}`, Started: second(1), Duration: hook.UnknownDuration},
		},
		tool("bash", `"status":"completed","output":"oops","metadata":{"exit":3},`+ended): {
			Kind: hook.KindToolEnd, Key: "tool_end/prt_1", Tool: &hook.Tool{ID: "c1", Name: "bash", Output: "oops", Error: "oops", Status: hook.ToolFailed, Started: second(1), Ended: second(1.25), Duration: 250 * time.Millisecond},
		},
		tool("bash", `"status":"completed","output":"fine","metadata":{"exit":0},`+ended): {
			Kind: hook.KindToolEnd, Key: "tool_end/prt_1", Tool: &hook.Tool{ID: "c1", Name: "bash", Output: "fine", Started: second(1), Ended: second(1.25), Duration: 250 * time.Millisecond},
		},
		tool("task", `"status":"completed","metadata":{"sessionId":"ses_2"}`): {
			Kind: hook.KindToolEnd, Key: "tool_end/prt_1", Tool: &hook.Tool{ID: "c1", Name: "task", Agent: "ses_2", Duration: hook.UnknownDuration},
		},
		tool("invalid", `"status":"completed","input":{"tool":"no_such"},"output":"unknown"`): {
			Kind: hook.KindToolEnd, Key: "tool_end/prt_1", Tool: &hook.Tool{ID: "c1", Name: "no_such", Input: `{"tool":"no_such"}`, Output: "unknown", Error: "unknown", Status: hook.ToolFailed, Duration: hook.UnknownDuration},
		},
		tool("write", `"status":"error","error":"The user rejected permission to use this specific tool call."`): {
			Kind: hook.KindToolEnd, Key: "tool_end/prt_1", Tool: &hook.Tool{ID: "c1", Name: "write", Error: "The user rejected permission to use this specific tool call.", Status: hook.ToolDenied, Duration: hook.UnknownDuration},
		},
		tool("bash", `"status":"error","error":"Tool execution aborted"`): {
			Kind: hook.KindToolEnd, Key: "tool_end/prt_1", Tool: &hook.Tool{ID: "c1", Name: "bash", Error: "Tool execution aborted", Status: hook.ToolCancelled, Duration: hook.UnknownDuration},
		},
	} {
		events, err := Decode(hook.Raw{Payload: []byte(`{"session":"ses_1",` + payload + `}`)})
		if err != nil || len(events) != 1 {
			t.Errorf("%s: %+v, %v", payload, events, err)
			continue
		}
		got := events[0]
		want.Host, want.Dialect, want.Session = Host, Dialect, "ses_1"
		want.Name, want.Hash, want.Time = got.Name, got.Hash, got.Time
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", payload, diff)
		}
	}
}

func second(s float64) time.Time { return time.UnixMilli(int64(s * 1000)).UTC() }

func TestStreamEndedIsAnEvent(t *testing.T) {
	events, err := Decode(hook.Raw{Payload: StreamEnded("ses_\"1")})
	if err != nil || events[0].Session != "ses_\"1" || events[0].Kind != hook.KindSessionEnd {
		t.Errorf("events %+v, %v", events, err)
	}
}
