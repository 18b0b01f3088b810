package codex

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
	if err != nil || len(files) != 11 {
		t.Fatalf("recordings %q, %v; want 11", files, err)
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

func none(string) string { return "" }

// checkEvents holds what every decoded event must be, whatever the payload.
func checkEvents(t *testing.T, r hook.Raw, events []hook.Event, err error) {
	t.Helper()
	head := Protocol.PeekIn(none)(r.Payload, r.Event)
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
		ends = ends || ev.Kind.Terminal()
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
	f.Add([]byte(`{"hook_event_name":"PostToolUse","tool_name":"run_shell_command","tool_response":{"llmContent":"Command: \nOutput: \nError: "}}`), "")
	f.Add([]byte(""), "UserPromptSubmit")
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

// TestWhatAPayloadMeans has what Codex does otherwise than Claude Code.
func TestWhatAPayloadMeans(t *testing.T) {
	for payload, want := range map[string]hook.Kind{
		`"hook_event_name":"Interrupt"`:                                      hook.KindRunCancel,
		`"hook_event_name":"PostModelRequest","status":"failed"`:             hook.KindAside,
		`"hook_event_name":"UserPromptSubmit","prompt":"go"`:                 hook.KindPrompt,
		`"hook_event_name":"UserPromptSubmit","prompt":"go","agent_id":"a1"`: hook.KindAside,
		`"hook_event_name":"PostToolUse","tool_use_id":"c1"`:                 hook.KindToolEnd,
	} {
		events, err := Decode(hook.Raw{Payload: []byte(`{"session_id":"s","turn_id":"t1",` + payload + `}`)})
		if err != nil || len(events) != 1 || events[0].Kind != want {
			t.Errorf("%s: %+v, %v, want %v", payload, events, err, want)
			continue
		}
		ev := events[0]
		if turn := map[bool]string{true: "t1"}[ev.Agent == ""]; ev.Turn != turn {
			t.Errorf("%s: turn %q, want %q", payload, ev.Turn, turn)
		}
		if ev.Tool != nil && ev.Tool.Status != hook.ToolUnknown {
			t.Errorf("%s: status %v, which Codex does not say", payload, ev.Tool.Status)
		}
	}
}
