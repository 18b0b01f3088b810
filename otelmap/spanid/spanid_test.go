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
		id := spanid.Run("h", "s", kind, name, at, at, agent)
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
