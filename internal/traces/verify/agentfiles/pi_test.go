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

// TestACallOfPiMayEndATurn has a tool after whose result Pi asks the model no more: the row does
// not say that.
func TestACallOfPiMayEndATurn(t *testing.T) {
	const head = `{"timestamp":"2026-01-01T00:00:01Z","type":"message","id":"`
	home := t.TempDir()
	const call = head + `u"` + `,"message":{"role":"user","content":"go"}}
` + head + `a","message":{"role":"assistant","stopReason":"toolUse","usage":{"input":9},"content":[{"type":"toolCall","id":"c","name":"answer"}]}}
` + head + `r","message":{"role":"toolResult","toolCallId":"c","durationMs":5,"content":[]}}
`
	for text, want := range map[string]bool{call: true, call + head + `b","message":{"role":"assistant","stopReason":"stop","content":[],"usage":{"input":1}}}` + "\n": false} {
		write(t, home, ".pi/agent/sessions/-w/1_s.jsonl", text)
		got, err := Read(t.Context(), "pi", Env{Home: home})
		if err != nil {
			t.Fatal(err)
		}
		if turns := got.Sessions["s"].Turns; len(turns) != 1 || turns[0].Unclear != want {
			t.Errorf("turns %+v, want one, its end unclear: %t", turns, want)
		}
	}
}
