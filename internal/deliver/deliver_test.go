package deliver

import (
	"context"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/internal/testkit/otlptest"
	"github.com/hookspan/hookspan/spool"
)

// TestFailingRunDelaysOnlyItsSession asks what a pass makes of the
// sessions after one whose first run meets the answer.
func TestFailingRunDelaysOnlyItself(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer otlptest.Answer
		// down reports that the destination is left alone for the pass.
		down bool
	}{
		{"500", otlptest.Status(500, "boom"), false},
		{"501", otlptest.Status(501, ""), false},
		{"507", otlptest.Status(507, ""), false},
		{"429", otlptest.Wait(429, ""), true},
		{"502", otlptest.Status(502, ""), true},
		{"503", otlptest.Status(503, ""), true},
		{"504", otlptest.Status(504, ""), true},
		{"408", otlptest.Status(408, ""), true},
		{"a redirect", otlptest.Redirect(302, "http://localhost/"), true},
		{"a login page", otlptest.LoginPage(), true},
		{"no answer", otlptest.CloseBefore(), true},
		{"half an answer", otlptest.CloseHalfway(), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, s := newBench(t), otlptest.New(t)
			var keys []spool.Key
			for _, id := range []string{"1795175957341", "1795175957342", "1795175957343"} {
				keys = append(keys, b.append(recorded(t, "classic-session", id)...))
			}
			b.clock.Advance(time.Minute)
			d := b.deliverer(otlpDestination(t, "otlp", OTLP{Endpoint: s.URL()}))
			runs, _ := b.view(keys[0], d.Map).count()
			s.Script(c.answer)
			r := b.run(d, Pass{Sessions: keys})["otlp"]
			want := Result{Runs: 3*runs - 1, Waiting: 1}
			if c.down {
				want = Result{Waiting: 3 * runs}
			}
			if r.Runs != want.Runs || r.Waiting != want.Waiting || r.Parked != 0 || len(r.Errors) != 1 {
				t.Errorf("pass: %s, want %d runs and %d waiting", mustJSON(r), want.Runs, want.Waiting)
			}
			st := b.state(keys[0], "otlp")
			if c.down && (st.Attempts != 1 || st.NextTry.IsZero()) || !c.down && (len(st.Parked) != 1 || st.Parked[0].NextTry.IsZero()) {
				t.Errorf("state %s, want a next try", mustJSON(st))
			}
		})
	}
}

func TestSlowDestinationsPositionIsStoredAfterEachRun(t *testing.T) {
	b := newBench(t)
	k := b.append(recorded(t, "classic-session", "")...)
	b.clock.Advance(time.Minute)
	m := &memory{}
	d := b.deliverer(Destination{Name: "infinium", Client: m})
	runs, _ := b.view(k, d.Map).count()
	var atCall []State
	m.before = func(context.Context, []*tracepb.ResourceSpans) error {
		atCall = append(atCall, *b.state(k, "infinium"))
		b.clock.Advance(noteEvery)
		return nil
	}
	b.run(d, Pass{})
	if len(atCall) != runs || runs < 3 {
		t.Fatalf("%d calls for %d runs", len(atCall), runs)
	}
	for i, st := range atCall {
		if st.Runs != int64(i) {
			t.Errorf("before call %d the state says %d runs", i, st.Runs)
		}
		// Who is killed here sends one run again at most: this one.
		after, again := newBenchIn(t, b.dir), &memory{}
		d := after.deliverer(Destination{Name: "infinium", Client: again})
		after.clock.Advance(time.Minute)
		s := after.session(k)
		if err := st.write(s, "infinium"); err != nil {
			t.Fatal(err)
		}
		if r := after.run(d, Pass{})["infinium"]; r.Runs != runs-i {
			t.Errorf("killed before call %d: %d runs follow, want %d", i, r.Runs, runs-i)
		}
		for id, span := range again.spans {
			if !proto.Equal(span, m.spans[id]) {
				t.Errorf("killed before call %d: span %v differs", i, id)
			}
		}
	}
}
