package otelmap

import (
	"testing"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
)

// TestQuickTurn has a turn that is answered at once, of an agent that does not wait for the hook of
// a prompt and whose ends name no turn: the hook is late, or it was killed.
func TestQuickTurn(t *testing.T) {
	const first, second = 0, 20
	end := func(sec float64) hook.Event {
		e := turnEv(sec, hook.KindRunComplete, "")
		e.Result = ""
		return e
	}
	files := &hook.Transcript{
		Prompts: []hook.Prompt{{At: ev(first, 0).Time, Text: "do 1", Turn: "1"}, {At: ev(second, 0).Time, Text: "do 2", Turn: "2"}},
		Requests: []hook.Request{
			{ID: "r1", Turn: "1", Start: ev(first+0.1, 0).Time, End: ev(first+0.2, 0).Time},
			{ID: "r2", Turn: "2", Start: ev(second+0.1, 0).Time, End: ev(second+0.2, 0).Time},
		},
	}
	before := []hook.Event{turnPrompt(first, "1"), end(first + 16)}
	for name, events := range map[string][]hook.Event{
		"in order": {turnPrompt(second, "2"), end(second + 0.3)},
		"late":     {end(second + 0.3), turnPrompt(second+0.4, "2")},
		"killed":   {end(second + 0.3)},
	} {
		for _, delivered := range []bool{false, true} {
			options, carry := Options{Agent: Traits{Turns: true, Unnamed: true}}, Carry{}
			if delivered {
				b := NewBuilder("claude-code", "s", options, carry)
				for _, e := range before {
					b.Add(e)
				}
				b.Runs(ev(first+18, 0).Time)
				_, carry = b.Boundary(func(RunID) bool { return true }, int64(1)<<40)
			}
			b := NewBuilder("claude-code", "s", options, carry)
			if !delivered {
				for _, e := range before {
					b.Add(e)
				}
			}
			for _, e := range append([]hook.Event{turnEv(second-1, hook.KindSessionStart, "")}, events...) {
				b.Add(e)
			}
			runs := b.Runs(ev(second+5, 0).Time)
			if want := map[bool]int{true: 1, false: 2}[delivered]; len(runs) != want {
				t.Errorf("%s, delivered %v: %d runs, want %d", name, delivered, len(runs), want)
				continue
			}
			spans := spansOf(b, runs[len(runs)-1], files)
			if got := otlp.Text(spans[0].Attributes, KeyInputValue); got != "do 2" || len(spans) != 2 || !runs[len(runs)-1].Ended {
				t.Errorf("%s, delivered %v: prompt %q, %d spans, ended %v", name, delivered, got, len(spans), runs[len(runs)-1].Ended)
			}
		}
	}
}
