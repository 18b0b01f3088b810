package agentmetrics

import (
	"math/rand/v2"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// ofTeam is a run of a team.
func ofTeam(n int, team string) ptrace.Traces {
	return run(n, func(resource pcommon.Map, _, _ ptrace.Span) { resource.PutStr("team.id", team) })
}

// TestUntouchedSeriesOutlivesExpiryAndRestarts has a series in a place behind one that has
// expired: what is stored stays at its place however often the Collector starts.
func TestUntouchedSeriesOutlivesExpiryAndRestarts(t *testing.T) {
	d := newDisk()
	now := time.Now()
	open := func() *running {
		r := start(t, d, func(c *Config) { c.Labels = "team.id" })
		r.now = func() time.Time { return now }
		return r
	}
	r := open()
	r.take(ofTeam(1, "gone"))
	now = now.Add(100 * time.Hour)
	r.take(ofTeam(2, "kept"))
	now = now.Add(100 * time.Hour)
	r.stopped()
	for i := range 3 {
		r = open()
		r.take(ofTeam(10+i, "new"))
		got := r.stopped("team.id")
		if got["agent.calls team.id=kept"] != 3 || got["agent.calls team.id=new"] != float64(3*(i+1)) {
			t.Fatalf("after %d starts: %v", i+1, got)
		}
	}
}

// TestClockThatJumpsLosesNoTotal draws what happens to connectors: runs of teams, a clock that
// is ahead or behind for a report, restarts, too many series. The totals are those of all
// spans that were taken.
func TestClockThatJumpsLosesNoTotal(t *testing.T) {
	for seed := range uint64(200) {
		draw := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // It draws cases.
		d, limit, now, ahead := newDisk(), []int{5, 40, 20000}[draw.IntN(3)], time.Now(), time.Duration(0)
		open := func() *running {
			r := start(t, d, func(c *Config) { c.Labels, c.SeriesLimit = "team.id", limit })
			r.now = func() time.Time { return now.Add(ahead) }
			r.report(t.Context())
			return r
		}
		r := open()
		want, n, last := 0.0, 0, 0.0
		take := func() {
			n++
			r.take(ofTeam(n, string(rune('a'+draw.IntN(4)))))
			want += 3
		}
		for range draw.IntN(30) {
			switch draw.IntN(5) {
			case 0, 1:
				take()
			case 2:
				ahead = []time.Duration{300 * time.Hour, -300 * time.Hour}[draw.IntN(2)]
				r.report(t.Context())
				if draw.IntN(2) == 0 {
					take()
				}
				ahead = 0
			case 3:
				r.report(t.Context())
			case 4:
				total := r.stopped()["agent.calls"]
				if total < last {
					t.Fatalf("seed %d: the total falls from %v to %v", seed, last, total)
				}
				last = total
				r = open()
			}
			now = now.Add(time.Minute)
		}
		if got := r.stopped()["agent.calls"]; got != want {
			t.Fatalf("seed %d, limit %d: %v calls, want %v", seed, limit, got, want)
		}
	}
}
