package qwen

import (
	"testing"

	"github.com/hookspan/hookspan/hook/qwen"
	"github.com/hookspan/hookspan/internal/testkit/transcripttest"
)

// The clock is set back within a task: it stays one.
func TestAClockSetBack(t *testing.T) {
	row := func(members string) string { return `{"sessionId":"s","timestamp":"%s",` + members + `}` }
	told := func(name, more string) string {
		return row(`"type":"system","subtype":"ui_telemetry","systemPayload":{"uiEvent":{"event.name":"qwen-code.` + name + `","event.timestamp":"%s","prompt_id":"s########%n",` + more + `}}`)
	}
	transcripttest.Jumps(t, Agent, qwen.Dialect, "s", ".qwen/projects/p/chats/s"+suffix, "", []string{
		row(`"type":"user","message":{"parts":[{"text":"go %n"}]}`),
		told("api_response", `"response_id":"a%n","duration_ms":1000,"input_token_count":1,"output_token_count":1`),
		row(`"type":"assistant","message":{"parts":[{"functionCall":{"id":"t%n","name":"x","args":{}}}]}`),
		told("tool_call", `"call_id":"t%n","function_name":"x","function_args":{},"duration_ms":1000,"status":"success"`),
		row(`"type":"tool_result","message":{"parts":[{"functionResponse":{"id":"t%n","name":"x","response":{"output":"ok"}}}]},"toolCallResult":{"callId":"t%n","status":"success"}`),
		told("api_response", `"response_id":"b%n","duration_ms":1000,"input_token_count":1,"output_token_count":1`),
		row(`"type":"assistant","message":{"parts":[{"text":"done"}]}`),
		row(`"type":"system","subtype":"x"`),
	}, 2500)
}
