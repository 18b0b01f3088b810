package otelmap

import (
	"testing"

	"github.com/hookspan/hookspan/hook"
)

// TestEndsOfCallsThatNameNoTool has a run with events of a call that do not say of which.
func TestEndsOfCallsThatNameNoTool(t *testing.T) {
	r := &Run{terminal: &item{}, items: []*item{{Kind: hook.KindToolStart}, {Kind: hook.KindToolEnd}}}
	r.Outcome = OutcomeCompleted
	if !r.Complete() {
		t.Error("the run is not complete")
	}
}
