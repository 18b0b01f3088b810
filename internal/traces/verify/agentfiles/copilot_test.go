package agentfiles

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
		got, err := Read(t.Context(), "copilot-cli", Env{Home: home})
		if err != nil {
			t.Fatal(err)
		}
		if s := got.Sessions["s"]; s.Unsummed != want || s.calls["t"][0].Status != Failed {
			t.Errorf("unsummed %t, want %t; the call is %v", s.Unsummed, want, s.calls["t"][0].Status)
		}
	}
}

// TestErrorsOfACopilotTurn has a request that was tried again, and failed again.
func TestErrorsOfACopilotTurn(t *testing.T) {
	home := t.TempDir()
	const failed = `{"timestamp":"2026-01-01T00:00:02Z","type":"session.error","data":{"errorType":"model_call"}}` + "\n"
	write(t, home, ".copilot/session-state/s/events.jsonl", `{"timestamp":"2026-01-01T00:00:01Z","type":"user.message","data":{"content":"go"}}`+"\n"+failed+failed)
	got, err := Read(t.Context(), "copilot-cli", Env{Home: home})
	if err != nil {
		t.Fatal(err)
	}
	if s := got.Sessions["s"]; len(s.Turns) != 1 || !s.Turns[0].Failed {
		t.Errorf("turns %+v, want one that failed", s.Turns)
	}
}
