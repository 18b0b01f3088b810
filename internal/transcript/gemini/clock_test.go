package gemini

import (
	"testing"

	"github.com/hookspan/hookspan/hook/gemini"
	"github.com/hookspan/hookspan/internal/testkit/transcripttest"
)

// The clock is set back within a task: it stays one.
func TestAClockSetBack(t *testing.T) {
	row := func(id, kind, text, more string) string {
		return `{"id":"` + id + `%n","timestamp":"%s","type":"` + kind + `","content":"` + text + `"` + more + `}`
	}
	call := func(id string) string {
		return `,"model":"m","toolCalls":[{"id":"` + id + `%n","name":"x","args":{},"status":"success","timestamp":"%s"}]`
	}
	transcripttest.Jumps(t, Agent, gemini.Dialect, "s0000000", ".gemini/tmp/p/chats/session-2026-06-10T09-00-s0000000.jsonl", `{"sessionId":"s0000000","startTime":"%s"}`, []string{
		row("u", "user", "go %n", ""), row("a", "gemini", "", call("t")), row("b", "gemini", "", call("v")), row("c", "gemini", "Done.", `,"model":"m"`), row("d", "info", "x", ""),
	}, 2500)
}
