package drawn_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/internal/drawn"
	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/rig"
)

func TestSeedDecidesTheSession(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(drawn.Draw(7, true), drawn.Draw(7, true)); diff != "" {
		t.Errorf("the same seed (-once +again):\n%s", diff)
	}
	if cmp.Equal(drawn.Draw(7, true), drawn.Draw(8, true)) {
		t.Error("two seeds give the same session")
	}
}

// TestEveryKindIsDrawn looks for each kind of trouble among the sessions of a soak.
func TestEveryKindIsDrawn(t *testing.T) {
	t.Parallel()
	seen := make(map[string]int)
	for seed := range uint64(200) {
		s := drawn.Draw(seed, true)
		if len(s.Prompts) > 1 {
			seen["resumed"]++
		}
		if last := s.Answers[len(s.Answers)-1]; len(last.Calls) > 0 || last.Refusal != 0 || last.Breaks {
			t.Errorf("seed %d: the last answer, which is repeated, does not end the work: %+v", seed, last)
		}
		marks := make(map[string]bool)
		for _, a := range s.Answers {
			if a.Anew != (seed%3 == 1) {
				t.Errorf("seed %d: numbers its calls anew: %v", seed, a.Anew)
			}
			count := map[string]bool{"broken": a.Breaks, "429": a.Refusal == 429, "500": a.Refusal == 500, "401": a.Refusal == 401, "parallel": len(a.Calls) > 1}
			for _, c := range a.Calls {
				count["fails"], count["interrupts"], count["unknown"] = c.Fails, c.Interrupts, c.Unknown()
				count["denied"], count["delegates"] = c.Denied, c.Delegates
				count["denied again"], count["interrupts again"], count["unknown again"] = a.Anew && c.Denied, a.Anew && c.Interrupts, a.Anew && c.Unknown()
				count["misleading failure"] = c.Fails && strings.Contains(c.Command, "Exit Code: 0")
				count["misleading success"] = !c.Fails && strings.Contains(c.Command, "Exit Code: 7")
				if marks[c.Mark] {
					t.Errorf("seed %d: %s marks two calls", seed, c.Mark)
				}
				marks[c.Mark] = true
				for kind, is := range count {
					if is {
						seen[kind]++
					}
				}
			}
			if len(a.Calls) == 0 {
				for kind, is := range count {
					if is {
						seen[kind]++
					}
				}
			}
		}
	}
	for _, kind := range []string{
		"resumed", "broken", "429", "500", "401", "parallel", "fails", "interrupts", "unknown", "denied", "delegates", "misleading failure", "misleading success",
		"denied again", "interrupts again", "unknown again",
	} {
		if seen[kind] < 5 {
			t.Errorf("%s: drawn %d times in 200 sessions", kind, seen[kind])
		}
	}
}

// TestTruthComesFromScriptAndLog has an agent that gives up after a refusal, and one
// whose user interrupts it.
func TestTruthComesFromScriptAndLog(t *testing.T) {
	t.Parallel()
	s := &drawn.Session{
		Prompts: []string{"one", "two", "three"},
		Answers: []drawn.Answer{
			{Refusal: 401},
			{Text: "run", Calls: []drawn.Call{{Mark: "m1k", Fails: true, Says: "no"}, {Mark: "m2k"}}},
			{Text: "done"},
			{Text: "long", Calls: []drawn.Call{{Mark: "m3k", Interrupts: true}}},
		},
	}
	request := func(n, turn, calls int) llm.Request {
		return llm.Request{
			N: n, Part: llm.PartMain, Turn: turn, Text: s.Answers[turn].Text, Complete: true,
			Usage: &llm.Usage{Input: int64(n), CacheRead: 2, Output: 3}, Calls: make([]llm.Call, calls),
		}
	}
	refused := request(1, 0, 0)
	refused.Usage = nil
	got := drawn.Truth(s, []llm.Request{refused, request(2, 1, 2), request(3, 2, 0), request(4, 3, 1)}, []rig.StepResult{
		{Requests: 1}, {Requests: 3}, {Requests: 4, Signalled: true},
	})
	tokens := func(n int64) rig.Tokens { return rig.Tokens{Input: n + 2, Output: 3, CacheRead: 2} }
	want := []drawn.Story{
		{Prompt: "one", Outcome: otelmap.OutcomeFailed},
		{
			Prompt: "two", Outcome: otelmap.OutcomeCompleted, Answer: "done", Total: tokens(2).Plus(tokens(3)),
			Requests: []drawn.Request{{Tokens: tokens(2), Text: "run"}, {Tokens: tokens(3), Text: "done"}},
			Calls:    []drawn.Ended{{Mark: "m1k", End: "failed", Says: "no"}, {Mark: "m2k", End: "ok"}},
		},
		{
			Prompt: "three", Outcome: otelmap.OutcomeInterrupted, Total: tokens(4),
			Requests: []drawn.Request{{Tokens: tokens(4), Text: "long"}}, Calls: []drawn.Ended{{Mark: "m3k", End: "cancelled"}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stories (-want +got):\n%s", diff)
	}
}
