package second

import "testing"

// TestACopilotThatWasKilled has a resumed session whose end no shutdown sums up, and a command
// whose exit code is in the words of its output.
func TestACopilotThatWasKilled(t *testing.T) {
	home := t.TempDir()
	const head = `{"timestamp":"2026-01-01T00:00:01Z","type":`
	const answer = head + `"assistant.message","data":{"messageId":"m","outputTokens":5}}` + "\n"
	const shutdown = head + `"session.shutdown","data":{"modelMetrics":{"m":{"usage":{"outputTokens":5}}}}}` + "\n"
	const call = head + `"tool.execution_start","data":{"toolCallId":"t","toolName":"bash"}}` + "\n" +
		head + `"tool.execution_complete","data":{"toolCallId":"t","success":true,"result":{"content":"no\n<exited with exit code 2>"}}}` + "\n"
	for text, want := range map[string]bool{answer + shutdown: false, answer + shutdown + answer: true, answer + shutdown + answer + shutdown: false, answer: false} {
		write(t, home, ".copilot/session-state/s/events.jsonl", text+call)
		got, err := Read(t.Context(), "copilot-cli", EnvOf(home, nil))
		if err != nil {
			t.Fatal(err)
		}
		if s := got.Sessions["s"]; s.Unsummed != want || s.Calls["t"].Status != Failed {
			t.Errorf("unsummed %t, want %t; the call is %v", s.Unsummed, want, s.Calls["t"].Status)
		}
	}
}
