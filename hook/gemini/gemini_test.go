package gemini

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
	f.Add([]byte(`{"hook_event_name":"AfterTool","tool_name":"run_shell_command","tool_response":{"llmContent":"<untrusted_context>\nOutput: \nExit Code: "}}`), "")
	f.Add([]byte(`{"hook_event_name":"AfterTool","tool_response":{"llmContent":[1,"a",{"text":"b"}],"error":1}}`), "")
	f.Add([]byte(""), "BeforeTool")
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

// end decodes the end of a call with this response.
func end(t *testing.T, tool, response string) *hook.Tool {
	t.Helper()
	payload := fmt.Sprintf(`{"session_id":"s","timestamp":"2026-11-22T14:44:30.435Z","hook_event_name":"AfterTool","tool_name":%q,"tool_input":{},"tool_response":%s}`, tool, response)
	events, err := Decode(hook.Raw{Payload: []byte(payload)})
	if err != nil {
		t.Fatal(err)
	}
	return events[0].Tool
}

func TestEndsOfCalls(t *testing.T) {
	for _, tt := range []struct {
		name, tool, response string
		status               hook.ToolStatus
		output, failure      string
	}{
		{"a text", "read_file", `{"llmContent":"alpha\n"}`, hook.ToolOK, "alpha\n", ""},
		{"parts", "read_file", `{"llmContent":[{"text":"a"},{"inlineData":{}},{"text":"b"}]}`, hook.ToolOK, "a\n[image]\nb", ""},
		{"an error", "read_file", `{"llmContent":"no","error":{"message":"File not found","type":"file_not_found"}}`, hook.ToolFailed, "no", "File not found"},
		{"an error without a text", "read_file", `{"error":{"type":"unknown"}}`, hook.ToolFailed, "", "unknown"},
		{
			"a command", "run_shell_command", `{"llmContent":"<untrusted_context>\nOutput: one\nProcess Group PGID: 12\n</untrusted_context>"}`,
			hook.ToolOK, "one", "",
		},
		{
			"a command without output", "run_shell_command", `{"llmContent":"<untrusted_context>\nOutput: (empty)\nProcess Group PGID: 12\n</untrusted_context>"}`,
			hook.ToolOK, "", "",
		},
		{
			"a command that fails", "run_shell_command", `{"llmContent":"<untrusted_context>\nOutput: oops\nExit Code: 3\nProcess Group PGID: 12\n</untrusted_context>"}`,
			hook.ToolFailed, "oops\nExit Code: 3", "oops\nExit Code: 3",
		},
		{
			"a command that prints a report", "run_shell_command", `{"llmContent":"<untrusted_context>\nOutput: Exit Code: 3\nmore\nSignal: 9\n</untrusted_context>"}`,
			hook.ToolOK, "Exit Code: 3\nmore\nSignal: 9", "",
		},
		{
			"a command in the background", "run_shell_command", `{"llmContent":"Command moved to background (PID: 7). Output hidden."}`,
			hook.ToolOK, "Command moved to background (PID: 7). Output hidden.", "",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := end(t, tt.tool, strings.ReplaceAll(tt.response, "\n", `\n`))
			if got.Status != tt.status || got.Output != tt.output || got.Error != tt.failure {
				t.Errorf("status %v, output %q, error %q; want %v, %q, %q", got.Status, got.Output, got.Error, tt.status, tt.output, tt.failure)
			}
		})
	}
}

// Status also reads what the session's file has.
func TestStatusInTheFile(t *testing.T) {
	for told, want := range map[string]hook.ToolStatus{
		`error "Tool execution blocked: no"`:                                     hook.ToolDenied,
		`error "File not found"`:                                                 hook.ToolFailed,
		`cancelled "[Operation Cancelled] Reason: User denied execution."`:       hook.ToolDenied,
		`cancelled "[Operation Cancelled] Reason: User cancelled the operation"`: hook.ToolCancelled,
		`success "fine"`: hook.ToolOK,
		`executing ""`:   hook.ToolUnknown,
	} {
		status, text, _ := strings.Cut(told, " ")
		if got := Status("read_file", status, []byte(text), nil); got != want {
			t.Errorf("%s: %v, want %v", told, got, want)
		}
	}
}

// What a command prints may look like the report on it. What the user was shown tells the
// two apart.
func TestOutputThatLooksLikeItsReport(t *testing.T) {
	report := func(lines ...string) string {
		return rawjson.Encode("<untrusted_context>\nOutput: " + strings.Join(append(lines, "Process Group PGID: 1"), "\n") + "\n</untrusted_context>")
	}
	for _, tt := range []struct {
		name, told, displayed string
		status                hook.ToolStatus
		output                string
	}{
		{"an exit code that was printed", report("m", "Exit Code: 3"), `"m\nExit Code: 3"`, hook.ToolOK, "m\nExit Code: 3"},
		{"an exit code that was not", report("m", "Exit Code: 3"), `"m"`, hook.ToolFailed, "m\nExit Code: 3"},
		{"both", report("m", "Exit Code: 0", "Exit Code: 7"), `"m\nExit Code: 0"`, hook.ToolFailed, "m\nExit Code: 0\nExit Code: 7"},
		{"both, without what was displayed", report("m", "Exit Code: 0", "Exit Code: 7"), "", hook.ToolFailed, "m\nExit Code: 0\nExit Code: 7"},
		{"the same code twice", report("Exit Code: 3", "Exit Code: 3"), `"Exit Code: 3"`, hook.ToolFailed, "Exit Code: 3\nExit Code: 3"},
		{"a whole report that was printed", report("m", "Error: no", "Exit Code: 3", "Signal: 9"), `"m\nError: no\nExit Code: 3\nSignal: 9\n"`, hook.ToolOK, "m\nError: no\nExit Code: 3\nSignal: 9"},
		{"the end of a long output", report("m", "n", "Exit Code: 3"), `"n\nExit Code: 3"`, hook.ToolOK, "m\nn\nExit Code: 3"},
		{"lines with colours", report("m n", "Exit Code: 3"), `[[{"text":"m ","fg":"#f00"},{"text":"n   "}],[{"text":"Exit Code: 3"}],[]]`, hook.ToolOK, "m n\nExit Code: 3"},
		{"no output", report("(empty)", "Exit Code: 3"), `"Command exited with code: 3"`, hook.ToolFailed, "Exit Code: 3"},
		{"something else that was displayed", report("m", "Exit Code: 3"), `"Output: m\nExit Code: 3\nProcess Group PGID: 1"`, hook.ToolFailed, "m\nExit Code: 3"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			told, displayed := []byte(tt.told), []byte(tt.displayed)
			status, output := Status(toolShell, "success", told, displayed), Output(toolShell, told, displayed)
			if status != tt.status || output != tt.output {
				t.Errorf("status %v, output %q, want %v, %q", status, output, tt.status, tt.output)
			}
		})
	}
}

// A payload of Claude Code is not the Gemini CLI's, whatever program it was given to.
func TestClaudeCodeIsTheOther(t *testing.T) {
	head := Protocol.PeekIn(none)([]byte(`{"session_id":"s","prompt_id":"p","hook_event_name":"Stop"}`), "Stop")
	if head.Agent != "claude-code" {
		t.Errorf("agent %q", head.Agent)
	}
}

func TestMCPServerIsInTheName(t *testing.T) {
	for tool, want := range map[string]string{"mcp_linear_get_issue": "linear", "mcp__linear__get": "linear", "mcp_": "", "read_file": ""} {
		if got := MCPServer(tool, ""); got != want {
			t.Errorf("%s: %q, want %q", tool, got, want)
		}
	}
}
