package qwen

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/testkit/hooktest"
)

var tested = hooktest.Agent{
	Decode: Decode, Peek: Protocol.PeekIn(hooktest.NoEnviron), Recordings: 6,
}

func TestGolden(t *testing.T) { tested.Golden(t) }

func FuzzDecode(f *testing.F) {
	tested.Fuzz(f,
		[2]string{`{"hook_event_name":"PostToolBatch","tool_calls":[null,1,{"tool_response":{"execution_status":"not_started"}}]}`, ""},
		[2]string{`{"hook_event_name":"PostToolUse","tool_name":"run_shell_command","tool_response":{"llmContent":"Command: \nOutput: \nError: "}}`, ""},
		[2]string{"", "UserPromptSubmit"},
	)
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
	head := Protocol.PeekIn(hooktest.NoEnviron)([]byte(`{"session_id":"s","prompt_id":"p","hook_event_name":"Stop"}`), "Stop")
	if head.Agent != "claude" {
		t.Errorf("agent %q", head.Agent)
	}
}
