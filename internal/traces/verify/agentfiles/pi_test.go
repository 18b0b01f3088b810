package agentfiles

import "testing"

// TestAnAnswerOfPiThatWasNeverSent has calls that were broken off before it.
func TestAnAnswerOfPiThatWasNeverSent(t *testing.T) {
	const head = `{"timestamp":"2026-01-01T00:00:01Z","type":"message","id":"`
	home := t.TempDir()
	for text, want := range map[string]int{"Command aborted": 1, "exit 1": 2} {
		write(t, home, ".pi/agent/sessions/-w/1_s.jsonl", head+`u"`+`,"message":{"role":"user","content":"go"}}
`+head+`a","message":{"role":"assistant","stopReason":"toolUse","usage":{"input":9},"content":[{"type":"toolCall","id":"c","name":"bash"}]}}
`+head+`r","message":{"role":"toolResult","toolCallId":"c","isError":true,"durationMs":5,"content":[{"type":"text","text":"`+text+`"}]}}
`+head+`b","message":{"role":"assistant","stopReason":"aborted","durationMs":3,"content":[],"usage":{"input":0}}}
`)
		got, err := Read(t.Context(), "pi", Env{Home: home})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(got.Sessions["s"].Requests); n != want {
			t.Errorf("%s: %d requests, want %d", text, n, want)
		}
	}
}
