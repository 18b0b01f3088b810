package kimi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/transcripttest"
	"github.com/hookspan/hookspan/internal/transcript"
)

// BenchmarkTurns reads a session of turns with a call and a subagent each.
func BenchmarkTurns(b *testing.B) {
	transcripttest.Growth(b, Agent, 300, func(b *testing.B, f *transcript.Files, n int) {
		b.Helper()
		const turn = `{"type":"turn.prompt","origin":{"kind":"user"},"input":"go","time":1796016450000}
{"type":"llm.request","kind":"loop","model":"m","time":1796016450001}
{"type":"usage.record","usage":{"inputOther":1,"output":1},"time":1796016450002}
{"type":"context.append_loop_event","event":{"type":"tool.call","toolCallId":"t%d","name":"Agent","args":{}},"time":1796016450003}
{"type":"subagent.spawned","subagentId":"agent-%d","parentToolCallId":"t%d","time":1796016450004}
{"type":"context.append_loop_event","event":{"type":"tool.result","toolCallId":"t%d","result":{"output":"ok"}},"time":1796016450005}
{"type":"turn.ended","reason":"completed","time":1796016450006}
`
		var rows strings.Builder
		for i := range n {
			rows.WriteString(strings.ReplaceAll(turn, "%d", fmt.Sprint(i)))
			transcripttest.Write(b, fmt.Sprintf("%s/.kimi-code/sessions/w/s/agents/agent-%d/%s", f.Home, i, fileName), strings.ReplaceAll(turn, "%d", "x"))
		}
		transcripttest.Write(b, f.Home+"/.kimi-code/sessions/w/s/agents/main/"+fileName, rows.String())
	})
}
