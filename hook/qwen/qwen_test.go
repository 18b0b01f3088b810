package qwen

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
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
	if err != nil || len(files) != 6 {
		t.Fatalf("recordings %q, %v; want 6", files, err)
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
	f.Add([]byte(`{"hook_event_name":"PostToolBatch","tool_calls":[null,1,{"tool_response":{"execution_status":"not_started"}}]}`), "")
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

// decode decodes a payload of a hook with these further members.
func decode(t *testing.T, event, members string) []hook.Event {
	t.Helper()
	payload := fmt.Sprintf(`{"session_id":"s","prompt_id":"s########1","timestamp":"2026-11-22T14:44:30.435Z","hook_event_name":%q%s}`, event, members)
	events, err := Decode(hook.Raw{Payload: []byte(payload)})
	if err != nil {
		t.Fatal(err)
	}
	return events
}

func TestOnlySubmittedPromptsAreOnes(t *testing.T) {
	for members, want := range map[string]hook.Kind{
		`,"prompt":"go on","submitted_prompt":"go"`: hook.KindPrompt,
		`,"prompt":"","submitted_prompt":""`:        hook.KindPrompt,
		`,"prompt":""`:                              hook.KindAside,
		`,"prompt":"a hook says why not"`:           hook.KindRunResume,
	} {
		ev := decode(t, "UserPromptSubmit", members)[0]
		if ev.Kind != want || want != hook.KindPrompt && ev.Prompt != "" {
			t.Errorf("%s: %v, prompt %q, want %v", members, ev.Kind, ev.Prompt, want)
		}
	}
	if got := decode(t, "UserPromptSubmit", `,"prompt":"go, with the file's text","submitted_prompt":"go"`)[0].Prompt; got != "go" {
		t.Errorf("prompt %q, want what was typed", got)
	}
}

func TestAnInterruptedToolEndsTheTurn(t *testing.T) {
	const call = `,"tool_use_id":"toolu_1","tool_call_id":"c1","tool_name":"read_file","error":"no"`
	events := decode(t, "PostToolUseFailure", call+`,"is_interrupt":true`)
	if len(events) != 2 || events[0].Tool.Status != hook.ToolCancelled || events[1].Kind != hook.KindRunCancel || events[1].Turn != "s########1" {
		t.Errorf("events %+v, want the call's end and the turn's", events)
	}
	if events := decode(t, "PostToolUseFailure", call+`,"is_interrupt":true,"agent_id":"a"`); len(events) != 1 {
		t.Errorf("a subagent's tool ends the turn: %+v", events)
	}
	if events := decode(t, "PostToolUseFailure", call+`,"is_interrupt":false`); len(events) != 1 || events[0].Tool.Status != hook.ToolFailed {
		t.Errorf("events %+v, want a failed call", events)
	}
}

func TestABatchReportsWhatNeverStarted(t *testing.T) {
	events := decode(t, "PostToolBatch", `,"tool_calls":[`+
		`{"tool_name":"a","tool_call_id":"c1","status":"success","tool_response":{"execution_status":"success"}},`+
		`{"tool_name":"b","tool_call_id":"c2","status":"error","tool_response":{"execution_status":"error","error":"ran"}},`+
		`{"tool_name":"c","tool_call_id":"c3","status":"error","tool_input":{"z":1,"a":2},"tool_response":{"execution_status":"not_started","error_type":"execution_denied","error":"no"}},`+
		`{"tool_name":"d","tool_call_id":"c4","status":"error","tool_response":{"execution_status":"not_started","error_type":"tool_not_registered","error":"what?"}},`+
		`{"tool_name":"e","tool_call_id":"c5","status":"cancelled","tool_response":{"execution_status":"not_started"}}]`)
	var got []string
	for _, ev := range events[1:] {
		got = append(got, fmt.Sprint(ev.Kind, " ", ev.Tool.ID, " ", ev.Tool.Name, " ", ev.Tool.Input, " ", ev.Tool.Status, " ", ev.Tool.Error))
	}
	want := []string{
		fmt.Sprint(`tool_end c3 c {"a":2,"z":1} `, hook.ToolDenied, " no"),
		fmt.Sprint(`tool_end c4 d  `, hook.ToolFailed, " what?"),
		fmt.Sprint(`tool_end c5 e  `, hook.ToolDenied, " "),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ends (-want +got):\n%s", diff)
	}
	if events[0].Kind != hook.KindAside {
		t.Errorf("the batch itself is %v", events[0].Kind)
	}
}

func TestShellReports(t *testing.T) {
	const head, tail = "Command: x\nDirectory: (root)\nOutput: ", "\nSignal: (none)\nProcess Group PGID: (none)"
	for report, want := range map[string]string{
		head + "one" + "\nError: (none)\nExit Code: 0" + tail:                                "one",
		head + "one\nError: two" + "\nError: (none)\nExit Code: 0" + tail:                    "one\nError: two",
		head + "(empty)" + "\nError: (none)\nExit Code: 0" + tail:                            "",
		head + "oops" + "\nError: (none)\nExit Code: 3" + tail:                               "oops\nExit Code: 3",
		head + "" + "\nError: no\nway\nExit Code: (none)\nSignal: 9\nProcess Group PGID: 12": "Error: no\nway\nSignal: 9",
		"Command: x\nDirectory: (root)\nOutput: one":                                         "Command: x\nDirectory: (root)\nOutput: one",
		"File not found: /x": "File not found: /x",
	} {
		if got := Shell(report); got != want {
			t.Errorf("Shell(%q) = %q, want %q", report, got, want)
		}
	}
}

// A payload of Claude Code is not Qwen Code's, whatever program it was given to.
func TestClaudeCodeIsTheOther(t *testing.T) {
	head := Protocol.PeekIn(none)([]byte(`{"session_id":"s","prompt_id":"p","hook_event_name":"Stop"}`), "Stop")
	if head.Agent != "claude-code" {
		t.Errorf("agent %q", head.Agent)
	}
}
