package codex

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/testkit/hooktest"
)

var tested = hooktest.Agent{
	Decode: Decode, Peek: Protocol.PeekIn(hooktest.NoEnviron), Recordings: 11,
}

func TestGolden(t *testing.T) { tested.Golden(t) }

func FuzzDecode(f *testing.F) {
	tested.Fuzz(f,
		[2]string{`{"hook_event_name":"PostToolUse","tool_name":"run_shell_command","tool_response":{"llmContent":"Command: \nOutput: \nError: "}}`, ""},
		[2]string{"", "UserPromptSubmit"},
	)
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

// TestRequestsHaveTheIDOfTheResponse has the members that 0.171 added. Before there were no ids.
func TestRequestsHaveTheIDOfTheResponse(t *testing.T) {
	for payload, want := range map[string]*hook.Request{
		`{"hook_event_name":"PreModelRequest","request_id":"req_1","kind":"sampling","thread_id":"s","attempt_number":1}`: {RequestID: "req_1"},
		`{"hook_event_name":"PostModelRequest","request_id":"req_1","response_id":"resp_1","kind":"foreground_compaction","status":"completed","token_usage":{"input_tokens":10,"cached_input_tokens":4,"output_tokens":3,"reasoning_output_tokens":1}}`: {
			RequestID: "req_1", ID: "resp_1", Usage: &hook.Usage{Input: 10, CacheRead: 4, Output: 3, Reasoning: 1, InputIncludesCache: true},
		},
		`{"hook_event_name":"PostModelRequest","request_id":"req_1","status":"failed","error":"no","token_usage":null}`: {RequestID: "req_1"},
		`{"hook_event_name":"PostModelRequest","status":"completed","token_usage":{"input_tokens":10}}`:                 nil,
	} {
		evs, err := Decode(hook.Raw{Payload: []byte(strings.Replace(payload, "{", `{"session_id":"s","turn_id":"t",`, 1))})
		if err != nil || len(evs) != 1 || evs[0].Kind != hook.KindAside || evs[0].Turn != "t" {
			t.Fatalf("%s: %+v, %v", payload, evs, err)
		}
		if diff := cmp.Diff(want, evs[0].Request); diff != "" {
			t.Errorf("%s (-want +got):\n%s", payload, diff)
		}
	}
}
