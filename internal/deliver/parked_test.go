package deliver

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

func TestForcedPassSendsRefusedRun(t *testing.T) {
	b := newBench(t)
	k := b.append(oneRun(t, "")...)
	b.clock.Advance(time.Minute)
	var answer error = &Error{Err: errors.New("401 Unauthorized"), Permanent: true}
	picky := &memory{}
	picky.before = func(context.Context, []*tracepb.ResourceSpans) error { return answer }
	d := b.deliverer(Destination{Name: "otlp", Client: picky})

	if r := b.run(d, Pass{})["otlp"]; r.Parked != 1 {
		t.Fatalf("a 401 parked %d runs, want 1", r.Parked)
	}
	if n := len(b.state(k, "otlp").Parked); n != 1 {
		t.Fatalf("%d runs are noted as refused, want 1", n)
	}
	// Not by itself, and not while the cause is there.
	b.run(d, Pass{})
	if r := b.run(d, Pass{Force: true})["otlp"]; r.Parked != 1 || len(b.state(k, "otlp").Parked) != 1 {
		t.Errorf("still refused: %+v", r)
	}
	answer = &Error{Err: errors.New("503")}
	if r := b.run(d, Pass{Force: true})["otlp"]; r.Waiting != 1 || len(b.state(k, "otlp").Parked) != 1 {
		t.Errorf("down: %+v", r)
	}
	answer = nil
	b.run(d, Pass{})
	if len(picky.ids()) != 0 {
		t.Fatal("a pass that nobody asked for sent what was refused")
	}
	want := b.view(k, d.Map).ended()
	if r := b.run(d, Pass{Force: true})["otlp"]; r.Runs != 1 || r.Spans != len(want) {
		t.Errorf("fixed: %+v", r)
	}
	wantIDs(t, "sent again", want, picky.ids())
	if st := b.state(k, "otlp"); len(st.Parked) != 0 || st.Runs != 1 {
		t.Errorf("afterwards %+v", st)
	}
	b.run(d, Pass{Force: true})
	if picky.doubles() != 0 {
		t.Error("it was sent a second time")
	}
}

// exporter makes a span exporter of a function.
type exporter func(context.Context, []*tracepb.ResourceSpans) error

func (f exporter) UploadTraces(ctx context.Context, s []*tracepb.ResourceSpans) error {
	return f(ctx, s)
}

// TestRefusedRunOfSharedTraceIsSentAlone has runs that were started in one
// context, of which a destination took some.
func TestRefusedRunOfSharedTraceIsSentAlone(t *testing.T) {
	b := newBench(t)
	recs := recorded(t, "classic-session", "")
	for i := range recs {
		recs[i].TraceParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	}
	k := b.append(recs...)
	b.clock.Advance(time.Minute)
	picky, calls := &memory{}, 0
	picky.before = func(context.Context, []*tracepb.ResourceSpans) error {
		if calls++; calls%2 == 0 {
			return &Error{Err: errTest, Permanent: true}
		}
		return nil
	}
	d := b.deliverer(Destination{Name: "infinium", Client: picky})
	b.run(d, Pass{})
	st := b.state(k, "infinium")
	if len(st.Parked) == 0 || st.Runs == 0 || st.Parked[0].Root == "" {
		t.Fatalf("state %s, want runs taken and runs refused, with their roots", mustJSON(st))
	}
	picky.before = nil
	if r := b.run(d, Pass{Force: true})["infinium"]; r.Runs != len(st.Parked) {
		t.Errorf("sent again: %s, want %d runs", mustJSON(r), len(st.Parked))
	}
	wantIDs(t, "infinium", b.view(k, d.Map).ended(), picky.ids())
	if n := picky.doubles(); n != 0 {
		t.Errorf("%d spans of runs that were taken came again", n)
	}
	if again := b.state(k, "infinium"); len(again.Parked) != 0 {
		t.Errorf("state %s, want none parked", mustJSON(again))
	}
}

func TestRunMissingInLogStaysParked(t *testing.T) {
	b, m := newBench(t), &memory{before: fail(&Error{Err: errTest, Permanent: true})}
	k := b.append(oneRun(t, "")...)
	b.clock.Advance(time.Minute)
	d := b.deliverer(Destination{Name: "otlp", Client: m})
	b.run(d, Pass{})
	if err := os.Truncate(b.path(k, "events.json-seq"), 0); err != nil {
		t.Fatal(err)
	}
	m.before, m.calls = nil, 0
	b.run(d, Pass{Force: true})
	if n := len(b.state(k, "otlp").Parked); n != 1 || m.calls != 0 || len(b.logged("no longer has the run")) != 1 {
		t.Errorf("%d parked, %d calls, log %q; want the run kept and nothing sent", n, m.calls, b.log)
	}
}

func TestRefusedRunIsSentOncePerPass(t *testing.T) {
	b, calls := newBench(t), 0
	k := b.append(oneRun(t, "")...)
	b.clock.Advance(time.Minute)
	d := b.deliverer(Destination{Name: "otlp", Client: exporter(func(context.Context, []*tracepb.ResourceSpans) error {
		calls++
		return &Error{Err: errTest, Permanent: true}
	})})
	b.run(d, Pass{})
	// Another run has only just ended: the pass looks a second time once it has
	// settled.
	if b.append(recorded(t, "classic-session", oneRun(t, "")[0].Session)...) != k {
		t.Fatal("another session")
	}
	runs, _ := b.view(k, d.Map).count()
	calls = 0
	b.run(d, Pass{Force: true})
	if len(b.clock.Slept()) == 0 || calls != runs {
		t.Errorf("%d calls, want one for each of %d runs, the refused one among them", calls, runs)
	}
}

func TestRefusedRunsAreTriedAfterFailure(t *testing.T) {
	b := newBench(t)
	k := b.append(recorded(t, "classic-session", "")...)
	b.clock.Advance(time.Minute)
	answer, calls := error(&Error{Err: errTest, Permanent: true}), 0
	d := b.deliverer(Destination{Name: "otlp", Client: exporter(
		func(context.Context, []*tracepb.ResourceSpans) error { calls++; return answer })})
	b.run(d, Pass{})
	parked := len(b.state(k, "otlp").Parked)
	for _, c := range []struct {
		err   error
		calls int
	}{{&Error{Err: errTest}, 1}, {&Error{Err: errTest, RunOnly: true}, parked}} {
		answer, calls = c.err, 0
		r := b.run(d, Pass{Force: true})["otlp"]
		if calls != c.calls || r.Waiting != parked || len(b.state(k, "otlp").Parked) != parked {
			t.Errorf("answered %t: %d calls, %s; want %d calls and %d waiting", classify(c.err).answered, calls, mustJSON(r), c.calls, parked)
		}
	}
}

func TestKeepRefusedTriesRunAgain(t *testing.T) {
	b := newBench(t)
	k := b.append(oneRun(t, "")...)
	b.clock.Advance(time.Minute)
	var answer error = &Error{Err: errors.New("401 Unauthorized"), Permanent: true}
	d := b.deliverer(Destination{Name: "otlp", Client: exporter(func(context.Context, []*tracepb.ResourceSpans) error { return answer })})
	d.KeepRefused = true
	if r := b.run(d, Pass{})["otlp"]; r.Waiting != 1 || r.Parked != 0 {
		t.Errorf("a 401: %+v, want one run waiting", r)
	}
	st := b.state(k, "otlp")
	if len(st.Parked) != 1 || st.Parked[0].NextTry.Sub(b.clock.Now()) < maxBackoff {
		t.Fatalf("state %s, want a next try in at least %s", mustJSON(st), maxBackoff)
	}
	answer = nil
	if r := b.run(d, Pass{})["otlp"]; r.Runs != 0 || r.Waiting != 1 {
		t.Errorf("before the next try: %+v", r)
	}
	b.clock.Advance(2 * maxBackoff)
	if r := b.run(d, Pass{})["otlp"]; r.Runs != 1 {
		t.Errorf("fixed: %+v", r)
	}
}
