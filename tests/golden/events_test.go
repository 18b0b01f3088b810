package golden_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/testkit/golden"
	"github.com/hookspan/hookspan/internal/traces/view"
)

// TestEventLines holds what hookspan tail prints of each recorded session.
func TestEventLines(t *testing.T) {
	for _, s := range sessions {
		t.Run(s.name(), func(t *testing.T) {
			var lines view.EventLines
			var out strings.Builder
			for _, e := range s.events(t) {
				if l, ok := lines.Of(&e); ok {
					out.WriteString(view.Event(&l, view.Options{Width: 120, Location: time.UTC}) + "\n")
				}
			}
			golden.Check(t, s.name()+".events.txt", []byte(out.String()))
		})
	}
}
