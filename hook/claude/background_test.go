package claude

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
)

// TestAgentsInTheBackground are in the list of a Stop, in the report of their end and in
// the call that stops them.
func TestAgentsInTheBackground(t *testing.T) {
	for _, tt := range []struct {
		name, payload string
		want          *hook.Background
	}{
		{"no list", `{"hook_event_name":"Stop"}`, nil},
		{"an empty list", `{"hook_event_name":"Stop","background_tasks":[]}`, &hook.Background{Listed: true}},
		{
			"a list", `{"hook_event_name":"Stop","background_tasks":[{"id":"a","type":"subagent","status":"running"},{"id":"b","command":"npm start"},{"id":"c","status":"killed"},{"id":"d","status":"completed"},5]}`,
			&hook.Background{Listed: true, AtWork: []string{"a"}, Ended: []hook.AgentEnd{{ID: "c", Stopped: true}, {ID: "d"}}},
		},
		{
			"reports", `{"hook_event_name":"UserPromptSubmit","prompt":"<task-notification>\n<task-id>a</task-id>\n<status>completed</status>\n<result>seen</result>\n</task-notification>\n<task-notification><task-id>b</task-id><status>failed</status></task-notification>"}`,
			&hook.Background{Ended: []hook.AgentEnd{{ID: "a", Result: "seen"}, {ID: "b", Stopped: true}}},
		},
		{"a report of work", `{"hook_event_name":"UserPromptSubmit","prompt":"<task-notification><task-id>b</task-id><status>running</status></task-notification>"}`, nil},
		{"a question about it", `{"hook_event_name":"UserPromptSubmit","prompt":"what is <task-notification><task-id>b</task-id><status>failed</status></task-notification>"}`, nil},
		{"a call that stops it", `{"hook_event_name":"PostToolUse","tool_name":"TaskStop","tool_input":{"task_id":"a"},"tool_response":{}}`, &hook.Background{Ended: []hook.AgentEnd{{ID: "a", Stopped: true}}}},
		{"a call that may stop it", `{"hook_event_name":"PreToolUse","tool_name":"TaskStop","tool_input":{"task_id":"a"}}`, nil},
	} {
		events, err := Decode(Raw{Payload: []byte(tt.payload)})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, events[0].Background); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
