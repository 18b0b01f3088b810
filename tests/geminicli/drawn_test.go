package geminicli_test

import (
	"testing"

	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/claudecli/mockanthropic"
	"github.com/hookspan/hookspan/tests/geminicli"
	"github.com/hookspan/hookspan/tests/internal/drawn"
	"github.com/hookspan/hookspan/tests/internal/rig"
)

// drawnTurn is a drawn answer as a turn of the model's.
func drawnTurn(a drawn.Answer) geminicli.Turn {
	t := geminicli.Turn{Text: a.Text, HTTPError: a.Refusal, Breaks: a.Breaks}
	for _, c := range a.Calls {
		switch {
		case c.Unknown():
			t.Tools = append(t.Tools, geminicli.Tool{Name: "no_such_" + c.Mark, Args: map[string]any{"x": c.Mark}})
		case c.Path != "":
			t.Tools = append(t.Tools, read(c.Path))
		default:
			t.Tools = append(t.Tools, shell(c.Command))
		}
	}
	return t
}

// TestDrawnSessions puts the Gemini CLI through sessions that are drawn at random.
func TestDrawnSessions(t *testing.T) {
	cache, bin := rig.Prepare(t, "Gemini CLI")
	h := drawn.Host{
		Agent: "gemini", Bin: bin,
		Prompt: func(s *drawn.Session, i int) rig.Step {
			if i == 0 {
				return gemini(s.Prompts[i])
			}
			return gemini(s.Prompts[i], "--resume", "latest")
		},
		Play: func(t *testing.T, dir string, s *drawn.Session, steps []rig.Step) (*rig.Result, []mockanthropic.Request) {
			t.Helper()
			res, err := geminicli.Do(t.Context(), cache, dir, geminicli.Script{Main: drawn.Turns(s.Answers, drawnTurn)}, steps, func(a *rig.Arena) error {
				if err := geminicli.Settings(a, map[string]string{"BeforeTool": denies}); err != nil {
					return err
				}
				return a.InstallHookspan(t.Context(), bin, nil, "gemini")
			})
			rig.Check(t, "the Gemini CLI", err)
			return res.Result, res.Requests
		},
	}
	h.Say = func(s *drawn.Story, imported bool) {
		if s.Outcome == otelmap.OutcomeFailed {
			s.Outcome = otelmap.OutcomeInterrupted // No hook and no file says more.
		}
		// The file has an answer with a call only when the call has ended: of one that was
		// cut off it has the text, as of a last answer.
		if n := len(s.Calls); imported && n > 0 && s.Calls[n-1].End == "cancelled" && len(s.Requests) > 0 && s.Requests[len(s.Requests)-1].Text != "" {
			s.Outcome, s.Answer, s.Calls = otelmap.OutcomeCompleted, s.Requests[len(s.Requests)-1].Text, s.Calls[:n-1]
		}
	}
	// A request that is refused for good takes its prompt out of the file again, and the
	// next start removes a file without prompts.
	h.Removes = true
	h.Open = func(outcome string) bool { return outcome != otelmap.OutcomeCompleted }
	h.Run(t)
}
