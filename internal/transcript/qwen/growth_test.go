package qwen

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/transcripttest"
	"github.com/hookspan/hookspan/internal/transcript"
)

// BenchmarkAgents reads a session with subagents of which no telemetry tells, each with ten answers.
func BenchmarkAgents(b *testing.B) {
	transcripttest.Growth(b, Agent, 300, func(b *testing.B, f *transcript.Files, n int) {
		b.Helper()
		answers := strings.Repeat(`{"sessionId":"s","timestamp":"2026-06-10T09:00:01Z","type":"assistant","message":{"parts":[{"text":"x"}]},"usageMetadata":{"promptTokenCount":1}}`+"\n", 10)
		transcripttest.Write(b, f.Home+"/.qwen/projects/p/chats/s"+suffix, `{"sessionId":"s","timestamp":"2026-06-10T09:00:00Z","type":"user","message":{"parts":[{"text":"go"}]}}`+"\n"+answers)
		for i := range n {
			transcripttest.Write(b, fmt.Sprintf("%s/.qwen/projects/p/subagents/s/agent-a%d.jsonl", f.Home, i), answers)
		}
	})
}
