package copilot

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
			Event   string
			Payload json.RawMessage
		}
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatal(err)
		}
		raws = append(raws, hook.Raw{Payload: row.Payload, Event: row.Event, StoredAt: time.Unix(0, row.TS).UTC(), Offset: int64(len(raws)), Cwd: "/started/here"})
	}
	return raws
}

func recordings(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.ndjson")
	if err != nil || len(files) != 8 {
		t.Fatalf("recordings %q, %v; want 8", files, err)
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
		ends = ends || ev.Kind.Terminal() || ev.Kind == hook.KindRequestError
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
	f.Add([]byte(`{"sessionId":1,"toolResult":{"textResultForLlm":"<shellId: "},"error":1}`), postToolUse)
	f.Add([]byte(`{"error":{"message":"{\\"message\\":1}"}}`), errorOccurred)
	f.Add([]byte(""), preToolUse)
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

func TestOutput(t *testing.T) {
	for told, want := range map[string][2]string{
		"one\n<shellId: 0 completed with exit code 0>":  {"one", "0"},
		"\n<shellId: 12 completed with exit code 0>":    {"", "0"},
		"oops\n<shellId: 0 completed with exit code 3>": {"oops\nExit Code: 3", "3"},
		"<shellId: 0 completed with exit code 3>\nmore": {"<shellId: 0 completed with exit code 3>\nmore", ""},
		"<shellId: 0 completed with exit code many>":    {"<shellId: 0 completed with exit code many>", ""},
		"a file": {"a file", ""},
		"":       {"", ""},
	} {
		if text, code := Output(told); text != want[0] || code != want[1] {
			t.Errorf("Output(%q) = %q, %q; want %q", told, text, code, want)
		}
	}
}

// What a subagent does is part of the lead agent's session. Of one that a subagent
// started, the calls name neither that nor its file.
func TestSubagentsAreInTheSession(t *testing.T) {
	const file = `/home/dev/.copilot/session-state/s1/events.jsonl`
	for name, tc := range map[string]struct {
		event, payload         string
		session, agent, parent string
	}{
		"a call":       {preToolUse, `{"sessionId":"a1","agentId":"a1","parentAgentId":"s1","toolName":"view","toolArgs":{}}`, "s1", "a1", hook.ParentUnknown},
		"an end":       {agentStop, `{"sessionId":"a1","agentId":"a1","parentAgentId":"s1"}`, "s1", "a1", hook.ParentUnknown},
		"a start":      {subagentStart, `{"sessionId":"s1","transcriptPath":"` + file + `","agentId":"a1","parentAgentId":"s1"}`, "s1", "a1", hook.ParentUnknown},
		"nested start": {subagentStart, `{"sessionId":"x","transcriptPath":"` + file + `","agentId":"a2","parentAgentId":"a1"}`, "s1", "a2", "a1"},
		"nested end":   {subagentStop, `{"sessionId":"x","transcriptPath":"C:\\session-state\\s1\\events.jsonl","agentId":"a2","parentAgentId":"a1"}`, "s1", "a2", "a1"},
		"nested call":  {preToolUse, `{"sessionId":"a2","agentId":"a2","parentAgentId":"a1","toolName":"view","toolArgs":{}}`, "a1", "a2", hook.ParentUnknown},
		"another path": {subagentStart, `{"sessionId":"s1","transcriptPath":"events.jsonl","agentId":"a1","parentAgentId":"s1"}`, "s1", "a1", hook.ParentUnknown},
	} {
		r := hook.Raw{Event: tc.event, Payload: []byte(tc.payload)}
		events, err := Decode(r)
		if err != nil {
			t.Fatal(err)
		}
		checkEvents(t, r, events, err)
		if e := events[0]; e.Session != tc.session || e.Agent != tc.agent || e.ParentAgent != tc.parent {
			t.Errorf("%s: session %q, agent %q, parent %q; want %+v", name, e.Session, e.Agent, e.ParentAgent, tc)
		}
		if name == "an end" && Peek(r.Payload, r.Event).RunEnds {
			t.Error("the end of a subagent ends the run")
		}
	}
}
