package claude

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/transcripttest"
	"github.com/hookspan/hookspan/internal/transcript"
)

// BenchmarkAgents reads a session with subagents that it started, half of them below another project.
func BenchmarkAgents(b *testing.B) {
	transcripttest.Growth(b, Agent, 200, func(b *testing.B, f *transcript.Files, n int) {
		b.Helper()
		var lead strings.Builder
		lead.WriteString(userRow("p1", 0, "go") + "\n")
		for i := range n {
			id := fmt.Sprint("t", i)
			lead.WriteString(answerRow("m"+id, 1, "tool:"+id, "tool_use") + "\n" + resultRow("p1", 2, id, "ok", false, fmt.Sprintf(`"toolUseResult":{"agentId":"a%d"}`, i)) + "\n")
			transcripttest.Write(b, fmt.Sprintf("%s/.claude/projects/%c/%s/subagents/agent-a%d.jsonl", f.Home, 'p'+i%2, claudeSession, i),
				userRow("p1", 1, "look", `"isSidechain":true`)+"\n"+answerRow("s"+id, 2, "x", "end_turn", `"isSidechain":true`)+"\n")
		}
		transcripttest.Write(b, f.Home+"/.claude/projects/p/"+claudeSession+suffix, lead.String())
	})
}

// BenchmarkSessions reads sessions of one project.
func BenchmarkSessions(b *testing.B) {
	transcripttest.Growth(b, Agent, 200, func(b *testing.B, f *transcript.Files, n int) {
		b.Helper()
		for i := range n {
			id := fmt.Sprintf("%08d-0000-4000-8000-000000000000", i)
			rows := userRow("p1", i, "go") + "\n" + answerRow(fmt.Sprint("m", i), i+1, "x", "end_turn") + "\n"
			transcripttest.Write(b, f.Home+"/.claude/projects/p/"+id+suffix, strings.ReplaceAll(rows, claudeSession, id))
		}
	})
}
