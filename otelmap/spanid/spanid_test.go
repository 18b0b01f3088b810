package spanid_test

import (
	"testing"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/otelmap/spanid"
)

// TestIDsOfAgentsWithSlashes has agents whose ids look like what follows another's id.
func TestIDsOfAgentsWithSlashes(t *testing.T) {
	at := time.UnixMilli(1)
	run := func(kind hook.Kind, name, agent string) string {
		id := spanid.Run("h", "s", kind, name, at, at, 0, agent)
		return string(id[:])
	}
	for name, keys := range map[string][]string{
		"calls": {spanid.Call("a/b", "c", "t", 0), spanid.Call("a", "b/c", "t", 0), spanid.Call("a%2Fb", "c", "t", 0)},
		"runs":  {run(hook.KindPrompt, "", "Stop/b"), run(hook.KindRunComplete, "Stop", "b"), run(hook.KindPrompt, "", "Stop%2Fb")},
	} {
		seen := make(map[string]bool)
		for _, key := range keys {
			seen[key] = true
		}
		if len(seen) != len(keys) {
			t.Errorf("%s: %d keys of %d: %q", name, len(seen), len(keys), keys)
		}
	}
}

// TestRunsOfAClockThatStandsStill has runs that begin at one time: the payload says that one whose
// beginning is missing is another. What begins a run may be read from the host's files, too.
func TestRunsOfAClockThatStandsStill(t *testing.T) {
	at := time.UnixMilli(1)
	for kind, want := range map[hook.Kind]bool{hook.KindToolStart: true, hook.KindRunComplete: true, hook.KindRunStart: false, hook.KindPrompt: false} {
		for _, reported := range []time.Time{at, {}} {
			one, two := spanid.Run("h", "s", kind, "n", reported, at, 1, ""), spanid.Run("h", "s", kind, "n", reported, at, 2, "")
			later := spanid.Run("h", "s", kind, "n", at, at.Add(1), 1, "")
			if first := spanid.Run("h", "s", kind, "n", at, at, 1, ""); (first != later) != want {
				t.Errorf("%v: the time of storing counts: %t, want %t", kind, first != later, want)
			}
			if (one != two) != want {
				t.Errorf("%v at %v: the payload counts: %t, want %t", kind, reported, one != two, want)
			}
		}
	}
}
