package vscode

import (
	"testing"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/testkit/hooktest"
)

var tested = hooktest.Agent{Decode: Decode, Peek: Protocol.PeekIn(hooktest.NoEnviron)}

func FuzzDecode(f *testing.F) {
	tested.Fuzz(f, [2]string{`{"sessionId":1,"hookEventName":"Stop","timestamp":1}`, "agentStop"}, [2]string{"", "preToolUse"})
}

func decode(t *testing.T, event, payload string) hook.Event {
	t.Helper()
	events, err := Decode(hook.Raw{Payload: []byte(payload), Event: event, Cwd: "/home/dev"})
	tested.Check(t, hook.Raw{Payload: []byte(payload), Event: event, Cwd: "/home/dev"}, events, err)
	return events[0]
}

func TestFormsAndNames(t *testing.T) {
	for name, tt := range map[string]struct {
		event, payload, want string
		kind                 hook.Kind
	}{
		"newer":             {"PreToolUse", `{"hook_event_name":"PreToolUse","session_id":"s"}`, "PreToolUse", hook.KindToolStart},
		"older":             {"postToolUse", `{"hookEventName":"PostToolUse","sessionId":"s"}`, "PostToolUse", hook.KindToolEnd},
		"Copilot's prompt":  {"userPromptSubmitted", `{"sessionId":"s","prompt":"go"}`, "UserPromptSubmit", hook.KindPrompt},
		"Copilot's end":     {"agentStop", `{"sessionId":"s"}`, "Stop", hook.KindRunComplete},
		"Copilot's payload": {"agentStop", "", "Stop", hook.KindRunComplete},
		"a new event":       {"newEvent", `{"sessionId":"s"}`, "newEvent", hook.KindUnknown},
	} {
		if ev := decode(t, tt.event, tt.payload); ev.Name != tt.want || ev.Kind != tt.kind || tt.payload != "" && ev.Session != "s" {
			t.Errorf("%s: %s of %q is %v", name, ev.Name, ev.Session, ev.Kind)
		}
	}
}

// TestEventsOfTwoFiles: the hooks of one event have one key, whatever their times, and those
// of two events have two.
func TestEventsOfTwoFiles(t *testing.T) {
	key := func(event, time, members string) string {
		ev := decode(t, event, `{"session_id":"s","hook_event_name":"`+event+`","timestamp":"2026-11-20T10:48:`+time+`Z"`+members+`}`)
		if ev.Cwd != "" || ev.Time.IsZero() {
			t.Errorf("%s: in %q at %v", event, ev.Cwd, ev.Time)
		}
		return ev.Key
	}
	for event, members := range map[string][2]string{
		"PreToolUse":       {`,"tool_use_id":"t1"`, `,"tool_use_id":"t2"`},
		"PostToolUse":      {`,"tool_use_id":"t1","tool_input":{"a":1}`, `,"tool_use_id":"t1","tool_input":{"a":2}`},
		"UserPromptSubmit": {`,"prompt":"go"`, `,"prompt":"stop"`},
		"SubagentStart":    {`,"agent_id":"a"`, `,"agent_id":"b"`},
	} {
		one, again, another := key(event, "29.000", members[0]), key(event, "29.100", members[0]), key(event, "29.000", members[1])
		if one == "" || one != again || one == another {
			t.Errorf("%s: %q, %q, another %q", event, one, again, another)
		}
	}
}
