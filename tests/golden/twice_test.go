package golden_test

import (
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/testkit/recorded"
)

// TestTwoPluginsCountOnce has the events of agents that load a plugin from two plugins, the
// user's and a project's. Each says when it handed an event on.
func TestTwoPluginsCountOnce(t *testing.T) {
	for _, s := range recorded.Sessions() {
		events, tr := read(t, s)
		if hook.AgentOf(events[0].Host).Plugin == "" && events[0].Host != hook.HostPi {
			continue
		}
		t.Run(s.Name(), func(t *testing.T) {
			var twice []hook.Event
			for _, e := range events {
				other := e
				other.Hash++
				other.StoredAt = e.StoredAt.Add(2 * time.Millisecond)
				if !e.Time.IsZero() {
					other.Time = e.Time.Add(2 * time.Millisecond)
				}
				twice = append(twice, e, other)
			}
			for i := range twice {
				twice[i].Offset = int64(i)
			}
			b, runs := build(events, tr)
			c, again := build(twice, tr)
			if diff := gocmp.Diff(string(outline(t, b, runs, tr)), string(outline(t, c, again, tr))); diff != "" {
				t.Errorf("(-one +two):\n%s", diff)
			}
		})
	}
}
