package kimi

import (
	"testing"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/testkit/hooktest"
)

var tested = hooktest.Agent{
	Decode: Decode, Peek: Protocol.PeekIn(hooktest.NoEnviron), Recordings: 8,
}

func TestGolden(t *testing.T) { tested.Golden(t) }

func FuzzDecode(f *testing.F) {
	tested.Fuzz(f,
		[2]string{`{"hook_event_name":"UserPromptSubmit","client_type":"kimi","is_steer":true,"prompt":[{"type":"text","text":"\n"},1,{}]}`, ""},
		[2]string{`{"hook_event_name":"PostToolUseFailure","client_type":"kimi","error":{"message":"Tool \"\" was not run because "}}`, ""},
		[2]string{"", "TurnStarted"},
	)
}

// TestWhatAPayloadMeans has what Kimi Code does otherwise than Claude Code.
func TestWhatAPayloadMeans(t *testing.T) {
	for payload, want := range map[string]struct {
		kind         hook.Kind
		turn, prompt string
		marks        []hook.Attr
	}{
		`"UserPromptSubmit","prompt":[{"type":"text","text":"go"}],"is_steer":false`: {kind: hook.KindPrompt, prompt: "go"},
		`"UserPromptSubmit","prompt":[{"type":"text","text":"go"},{"type":"image_url"},{"type":"text","text":"on"}],"is_steer":true`: {
			hook.KindPrompt, "", "go\n[image]\non", []hook.Attr{{Key: hook.AttrPromptQueued, Value: true}},
		},
		`"TurnStarted","turn_id":0,"origin_kind":"user","prompt":"go"`:                                           {kind: hook.KindAside, turn: "0", prompt: "go"},
		`"TurnStarted","turn_id":3,"origin_kind":"skill_activation","prompt":"review"`:                           {kind: hook.KindPrompt, turn: "3", prompt: "review"},
		`"TurnStarted","turn_id":1,"origin_kind":"task"`:                                                         {hook.KindPrompt, "1", "", []hook.Attr{{Key: hook.AttrPromptInjected, Value: true}}},
		`"TurnStarted","turn_id":0,"origin_kind":"system_trigger","origin_name":"subagent","prompt":"look"`:      {kind: hook.KindAside},
		`"TurnStarted","turn_id":2,"origin_kind":"system_trigger","origin_name":"goal_continuation","prompt":""`: {hook.KindPrompt, "2", "", []hook.Attr{{Key: hook.AttrPromptInjected, Value: true}}},
		`"Stop","stop_hook_active":false`:                                                                        {kind: hook.KindRunComplete},
		`"Interrupt","turn_id":0,"reason":"cancelled"`:                                                           {kind: hook.KindRunCancel},
		`"SubagentStop","agent_name":"coder","response":"done"`:                                                  {kind: hook.KindNote},
		`"SessionHeartbeat","uptime_ms":60000`:                                                                   {kind: hook.KindAside},
	} {
		events, err := Decode(hook.Raw{Payload: []byte(`{"session_id":"s","client_type":"kimi_code_cli","hook_event_name":` + payload + `}`)})
		if err != nil || len(events) != 1 {
			t.Errorf("%s: %+v, %v", payload, events, err)
			continue
		}
		ev := events[0]
		if ev.Kind != want.kind || ev.Turn != want.turn || ev.Prompt != want.prompt || len(ev.Attrs) != len(want.marks) || len(want.marks) > 0 && ev.Attrs[0] != want.marks[0] {
			t.Errorf("%s: %+v, want %+v", payload, ev, want)
		}
	}
}

// TestHowACallEnded has the ends that Kimi Code reports as a failure.
func TestHowACallEnded(t *testing.T) {
	for message, want := range map[string]hook.ToolStatus{
		"worse\\nCommand failed with exit code: 3.": hook.ToolFailed, "a hook says no": hook.ToolFailed,
		`Tool \"Bash\" was not run because the user rejected the approval request.`: hook.ToolDenied,
		`Tool \"Bash\" was not run because the approval request was cancelled.`:     hook.ToolDenied,
		`grep: Tool \"Bash\" was not run because the user rejected it`:              hook.ToolFailed,
	} {
		events, err := Decode(hook.Raw{Payload: []byte(`{"session_id":"s","hook_event_name":"PostToolUseFailure","tool_name":"Bash","tool_call_id":"c","error":{"message":"` + message + `"}}`)})
		if err != nil || len(events) != 1 || events[0].Tool == nil || events[0].Tool.Status != want || events[0].Tool.ID != "c" || events[0].Tool.Error == "" {
			t.Errorf("%s: %+v, %v, want %v", message, events, err, want)
		}
	}
}
