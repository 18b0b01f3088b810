package deliver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/spool"
)

// longTurn is a turn with that many calls, each with its end.
func longTurn(id string, calls int) []spool.Record {
	recs := turn(id)
	out := recs[:1:1]
	for n := range calls {
		call := fmt.Sprintf(`"tool_name":"Bash","tool_input":{},"tool_use_id":"t-%s-%d"`, id, n)
		out = append(out, said("PreToolUse", id, call), said("PostToolUse", id, call+`,"tool_response":"ok"`))
	}
	return append(out, recs[3])
}

// TestLongRunIsSentInParts has destinations that take a few requests of each delivery.
func TestLongRunIsSentInParts(t *testing.T) {
	const calls, batch = 400, 50
	limited := &Error{Err: errors.New("429"), After: time.Minute}
	for name, c := range map[string]struct {
		// atOnce is how many requests are taken before fails.
		atOnce int
		fails  error
		window int64
	}{
		"rate-limited":             {1, limited, 0},
		"rate-limited, a long log": {1, limited, 1 << 10},
		"slow":                     {3, context.DeadlineExceeded, 0},
		"slow, a long log":         {3, context.DeadlineExceeded, 1 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			b, m := newBench(t), &memory{}
			k := b.append(longTurn("p1", calls)...)
			b.clock.Advance(time.Hour)
			d := b.claudeDeliverer(nil, Destination{Name: "otlp", Client: m, Batch: batch})
			d.Window = c.window
			passes, runs := 0, 0
			for runs == 0 && passes < 3*calls/batch {
				ctx, cancel := context.WithCancel(t.Context())
				left := c.atOnce
				m.before = func(context.Context, []*tracepb.ResourceSpans) error {
					if left--; left < 0 {
						if c.fails == context.DeadlineExceeded { //nolint:errorlint // It is the row's own.
							cancel()
						}
						return c.fails
					}
					return nil
				}
				passes++
				r, _ := d.Run(ctx, Pass{})
				cancel()
				runs += r[0].Runs
				b.clock.Advance(2 * time.Minute)
			}
			want := (calls + 1 + batch - 1) / batch / c.atOnce
			if runs != 1 || passes > want+2 || m.doubles() != 0 || len(m.spans) != calls+1 {
				t.Errorf("%d of %d spans in %d deliveries, %d doubles; want all in %d, and none", len(m.spans), calls+1, passes, m.doubles(), want)
			}
			if st := b.state(k, "otlp"); len(st.Sent) != 0 || st.Spans != calls+1 {
				t.Errorf("afterwards %s", mustJSON(st))
			}
		})
	}
}

// TestKilledDeliveryOfLongRunSendsLittleAgain takes the position that is stored at each
// request for that of a process that was killed there.
func TestKilledDeliveryOfLongRunSendsLittleAgain(t *testing.T) {
	b, m := newBench(t), &memory{}
	k := b.append(longTurn("p1", 100)...)
	b.clock.Advance(time.Hour)
	d := b.claudeDeliverer(nil, Destination{Name: "otlp", Client: m, Batch: 10})
	var at []State
	m.before = func(context.Context, []*tracepb.ResourceSpans) error {
		at = append(at, *b.state(k, "otlp"))
		b.clock.Advance(time.Second)
		return nil
	}
	b.run(d, Pass{})
	for i, st := range at {
		s := b.session(k)
		if err := st.write(s, "otlp"); err != nil {
			t.Fatal(err)
		}
		again := &memory{}
		d := b.claudeDeliverer(nil, Destination{Name: "otlp", Client: again, Batch: 10})
		b.run(d, Pass{})
		if n := len(again.spans); n != max(0, 101-10*i) {
			t.Errorf("killed before request %d: %d spans follow, want %d", i, n, max(0, 101-10*i))
		}
		// Another collector has nothing of it.
		if err := st.write(s, "otlp"); err != nil {
			t.Fatal(err)
		}
		other := &memory{}
		b.run(b.claudeDeliverer(nil, Destination{Name: "otlp", Client: other, Batch: 10, Target: "http://other"}), Pass{})
		if len(other.spans) != 101 {
			t.Errorf("another address gets %d spans, want all", len(other.spans))
		}
	}
}

// TestPartialSuccessOfSeveralRunsIsFinal has a destination that rejects some spans of a
// request with several runs.
func TestPartialSuccessOfSeveralRunsIsFinal(t *testing.T) {
	b, m := newBench(t), &memory{}
	var recs []spool.Record
	for n := range 10 {
		recs = append(recs, turn(fmt.Sprintf("p%d", n))...)
	}
	k := b.append(recs...)
	b.clock.Advance(time.Hour)
	m.after = func(context.Context, []*tracepb.ResourceSpans) error {
		return &Error{Err: errors.New("2 spans rejected"), Permanent: true, Rejected: 2}
	}
	r := b.run(b.claudeDeliverer(nil, Destination{Name: "otlp", Client: m, Batch: 512}), Pass{})["otlp"]
	if r.Runs != 10 || r.Spans != 18 || len(r.Errors) != 1 || m.doubles() != 0 || m.calls != 1 {
		t.Errorf("%s, %d doubles in %d requests; want 18 of 20 spans delivered and none again", mustJSON(r), m.doubles(), m.calls)
	}
	if st := b.state(k, "otlp"); st.Rejected != 2 || st.Offset != b.size(k) {
		t.Errorf("afterwards %s", mustJSON(st))
	}
}

func TestManyRefusedRunsAreAllKept(t *testing.T) {
	const turns = 250
	b, m := newBench(t), &memory{before: fail(&Error{Err: errTest, Permanent: true})}
	var recs []spool.Record
	for n := range turns {
		recs = append(recs, turn(fmt.Sprintf("p%d", n))...)
	}
	b.append(recs...)
	b.clock.Advance(time.Hour)
	d := b.claudeDeliverer(nil, Destination{Name: "otlp", Client: m, Batch: 512})
	if r := b.run(d, Pass{})["otlp"]; r.Parked != turns {
		t.Errorf("%s, want %d rejected", mustJSON(r), turns)
	}
	m.before = nil
	if r := b.run(d, Pass{Force: true})["otlp"]; r.Runs != turns || len(m.spans) != 2*turns || m.doubles() != 0 {
		t.Errorf("%s, want all delivered", mustJSON(r))
	}
}

// TestRunThatAlwaysFailsDelaysNoOther ends one turn after the other, while one of them is
// answered with a failure for ever.
func TestRunThatAlwaysFailsDelaysNoOther(t *testing.T) {
	b, m := newBench(t), &memory{}
	d := b.claudeDeliverer(nil, Destination{Name: "otlp", Client: m, Batch: 512})
	bad := ""
	m.before = func(_ context.Context, spans []*tracepb.ResourceSpans) error {
		for s := range otlp.Spans(spans) {
			if bad == "" {
				bad = otlp.TraceID(s)
			}
			if otlp.TraceID(s) == bad {
				return &Error{Err: errors.New("500"), RunOnly: true}
			}
		}
		return nil
	}
	for n := range 20 {
		b.append(turn(fmt.Sprintf("p%d", n))...)
		b.clock.Advance(time.Minute)
		r := b.run(d, Pass{})["otlp"]
		if r.Waiting != 1 || r.Runs != min(n, 1) {
			t.Errorf("turn %d: %s, want it delivered and the first one waiting", n, mustJSON(r))
		}
	}
	m.before = nil
	b.clock.Advance(time.Hour)
	if r := b.run(d, Pass{})["otlp"]; r.Runs != 1 || len(m.spans) != 40 || m.doubles() != 0 {
		t.Errorf("%s, %d spans; want the first one, too", mustJSON(r), len(m.spans))
	}
}

// TestPausedDestinationGetsNothing has a destination that asked other processes to wait.
func TestPausedDestinationGetsNothing(t *testing.T) {
	b, m := newBench(t), &memory{}
	for n := range 3 {
		b.append(oneRun(t, fmt.Sprintf("179517595734%d", n))...)
	}
	b.clock.Advance(time.Minute)
	until := b.clock.Now().Add(time.Minute)
	d := b.deliverer(Destination{Name: "otlp", Client: m, Paused: func() time.Time { return until }})
	if r := b.run(d, Pass{})["otlp"]; r.Waiting != 3 || m.calls != 0 {
		t.Errorf("%s, %d requests; want three waiting and none", mustJSON(r), m.calls)
	}
	// A clock that was ahead must not stop the deliveries until it is reached.
	until = b.clock.Now().Add(60 * 24 * time.Hour)
	if r := b.run(d, Pass{})["otlp"]; r.Runs != 3 {
		t.Errorf("afterwards: %s", mustJSON(r))
	}
	if got := slices.Max([]time.Duration{Wait(nil), Wait(&Error{Err: errTest, After: time.Hour, RunOnly: true}), Wait(&Error{Err: errTest, After: time.Hour, Permanent: true})}); got != 0 {
		t.Errorf("a failure of one run stops the destination for %s", got)
	}
	if Wait(&Error{Err: errTest, After: time.Hour}) != time.Hour {
		t.Error("a destination that is overloaded is not left alone")
	}
}
