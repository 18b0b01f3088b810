package kimi

import (
	"testing"

	"github.com/hookspan/hookspan/hook/kimi"
	"github.com/hookspan/hookspan/internal/testkit/transcripttest"
)

// The clock is set back within a task: it stays one.
func TestAClockSetBack(t *testing.T) {
	row := func(members string) string { return `{"time":"%s",` + members + `}` }
	event := func(members string) string {
		return row(`"type":"context.append_loop_event","event":{` + members + `}`)
	}
	transcripttest.Jumps(t, Agent, kimi.Dialect, "s", ".kimi-code/sessions/w/s/agents/main/"+fileName, "", []string{
		row(`"type":"turn.prompt","origin":{"kind":"user"},"input":[{"type":"text","text":"go %n"}]`),
		event(`"type":"step.begin","uuid":"a%n"`),
		row(`"type":"llm.request","kind":"loop","model":"m"`),
		row(`"type":"usage.record","usage":{"inputOther":1,"output":1}`),
		event(`"type":"tool.call","stepUuid":"a%n","toolCallId":"t%n","name":"x","args":{}`),
		event(`"type":"tool.result","toolCallId":"t%n","result":{"output":"ok"}`),
		event(`"type":"step.end","uuid":"a%n","finishReason":"end_turn"`),
		row(`"type":"turn.ended","reason":"completed"`),
		row(`"type":"turn.cancel","target":"queued"`),
	}, 2500)
}
