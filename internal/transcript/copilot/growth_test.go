package copilot

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/transcripttest"
	"github.com/hookspan/hookspan/internal/transcript"
)

// BenchmarkTurns reads a session of turns with a call and a subagent each.
func BenchmarkTurns(b *testing.B) {
	transcripttest.Growth(b, Agent, 1000, func(b *testing.B, f *transcript.Files, n int) {
		b.Helper()
		var rows strings.Builder
		for i := range n {
			for _, row := range []string{
				`user.message","data":{"content":"go"}`, `assistant.message","data":{"messageId":"m%d","content":"","toolRequests":[{"toolCallId":"t%d","name":"task","arguments":{}}]}`,
				`subagent.started","data":{"toolCallId":"t%d","agentName":"x"}`, `subagent.completed","data":{"toolCallId":"t%d"}`, `tool.execution_complete","data":{"toolCallId":"t%d","success":true}`,
			} {
				rows.WriteString(`{"timestamp":"2026-06-10T09:00:00Z","type":"` + strings.ReplaceAll(row, "%d", fmt.Sprint(i)) + "}\n")
			}
		}
		transcripttest.Write(b, f.Home+"/.copilot/"+folder+"/"+oldSession+"/"+fileName, rows.String())
	})
}
