package geminicli_test

import (
	"testing"

	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/geminicli"
	"github.com/hookspan/hookspan/tests/internal/drawn"
	"github.com/hookspan/hookspan/tests/internal/scenario"
)

// TestDrawnSessions puts the Gemini CLI through sessions that are drawn at random.
func TestDrawnSessions(t *testing.T) {
	d := scenario.Drawn{
		Submit: gemini, Again: []string{"--resume", "latest"},
		Forms: drawn.Forms{Read: read, Shell: shell},
		More:  map[string]string{"BeforeTool": denies},
	}
	d.Say = func(s *drawn.Story, imported bool) {
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
	d.Removes = true
	d.Open = func(outcome string) bool { return outcome != otelmap.OutcomeCompleted }
	geminicli.Agent.Draw(t, &d)
}
