package picli_test

import (
	"testing"

	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/internal/drawn"
	"github.com/hookspan/hookspan/tests/internal/scenario"
	"github.com/hookspan/hookspan/tests/picli"
)

// TestDrawnSessions puts Pi through sessions that are drawn at random.
func TestDrawnSessions(t *testing.T) {
	picli.Agent.Draw(t, &scenario.Drawn{
		Host: drawn.Host{
			Short: 2,
			// The file of a process that was killed does not say that its turn has ended.
			Open: func(outcome string) bool { return outcome == otelmap.OutcomeInterrupted },
		},
		Submit: pi, Again: []string{"-c"}, Forms: drawn.Forms{Read: read, Shell: bash},
	})
}
