package opencodecli_test

import (
	"strings"
	"testing"

	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/internal/drawn"
	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/scenario"
	"github.com/hookspan/hookspan/tests/opencodecli"
)

// shell is a drawn command: what is forbidden fails by the plugin; a rule denies what is
// secret.
func shell(command string) llm.Call {
	return bash(strings.ReplaceAll(command, drawn.Forbidden, "secret"))
}

// TestDrawnSessions puts opencode through sessions that are drawn at random.
func TestDrawnSessions(t *testing.T) { draw(t, opencodecli.Agent, 0) }

// TestDrawnForks does the same to its forks.
func TestDrawnForks(t *testing.T) {
	for _, g := range opencodecli.Forks {
		t.Run(g.Name, func(t *testing.T) { draw(t, g, 2) })
	}
}

func draw(t *testing.T, g *scenario.Agent, short int) {
	t.Helper()
	d := scenario.Drawn{
		Host: drawn.Host{Short: short, Subagents: true}, Submit: opencode, Again: []string{"--continue"},
		Forms: drawn.Forms{Read: read, Shell: shell, Delegate: task},
		More:  map[string]string{"permission": secret},
	}
	d.Say = func(s *drawn.Story, _ bool) {
		// The program puts what has blanks between quotation marks.
		s.Prompt = `"` + s.Prompt + `"`
		if s.Outcome == otelmap.OutcomeInterrupted {
			s.Forget() // It never counts a request whose call is cut off.
		}
	}
	// Its database does not say that such a turn has ended.
	d.Open = func(outcome string) bool { return outcome == otelmap.OutcomeInterrupted }
	if g.Name == "kilo" {
		d.Forgets = func(s *drawn.Story) {
			// It removes the answer of a request that failed, if it is the turn's only one.
			if s.Outcome == otelmap.OutcomeFailed && len(s.Requests)+len(s.Calls) == 0 {
				s.Outcome = otelmap.OutcomeInterrupted
			}
		}
	}
	g.Draw(t, &d)
}
