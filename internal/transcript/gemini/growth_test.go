package gemini

import (
	"fmt"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/transcripttest"
	"github.com/hookspan/hookspan/internal/transcript"
)

// BenchmarkSessions reads the sessions of one folder.
func BenchmarkSessions(b *testing.B) {
	transcripttest.Growth(b, Agent, 400, func(b *testing.B, f *transcript.Files, n int) {
		b.Helper()
		for i := range n {
			id := fmt.Sprintf("%08x-1", i)
			transcripttest.Write(b, fmt.Sprintf("%s/.gemini/tmp/p/chats/session-2026-06-10T09-00-%08x.jsonl", f.Home, i),
				`{"sessionId":"`+id+`","startTime":"2026-06-10T09:00:00Z"}`+"\n"+`{"id":"1","type":"user","timestamp":"2026-06-10T09:00:00Z","content":"go"}`)
		}
	})
}
