package copilot

import (
	"testing"

	"github.com/hookspan/hookspan/hook/copilot"
	"github.com/hookspan/hookspan/internal/testkit/transcripttest"
)

// The clock is set back within a task: it stays one.
func TestAClockSetBack(t *testing.T) {
	row := func(kind, data string) string { return `{"type":"` + kind + `","timestamp":"%s","data":` + data + `}` }
	call := func(id, text string) string {
		return row("assistant.message", `{"messageId":"`+id+`%n","content":"`+text+`","toolRequests":[{"toolCallId":"`+id+`%n","name":"bash","arguments":{}}]}`)
	}
	result := func(id string) string {
		return row("tool.execution_complete", `{"toolCallId":"`+id+`%n","success":true,"result":{"content":"ok"}}`)
	}
	transcripttest.Jumps(t, Agent, copilot.Dialect, oldSession, ".copilot/"+folder+"/"+oldSession+"/"+fileName, row(sessionStart, `{}`), []string{
		row(userMessage, `{"content":"go %n"}`), call("t", ""), result("t"), call("u", ""), result("u"), row(assistantMessage, `{"messageId":"x%n","content":"done","toolRequests":[]}`),
		row("assistant.turn_end", `{}`),
	}, 2500)
}
