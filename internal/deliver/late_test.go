package deliver

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
)

// TestLateEventsCompleteTheirRun stores events after their run was delivered. What the
// destination has then is what it would have had without the delay, and what did not
// change came once.
func TestLateEventsCompleteTheirRun(t *testing.T) {
	claudeTurn := longTurn("p1", 3)
	classic := oneRun(t, "")
	background := []spool.Record{
		turn("p0")[0], said("SubagentStart", "p0", `"agent_id":"a1","agent_type":"Explore"`), turn("p0")[3],
	}
	tools := func(recs []spool.Record, event string) (out []int) {
		for i, r := range recs {
			if r.Event == event {
				out = append(out, i)
			}
		}
		return out
	}
	for name, c := range map[string]struct {
		recs []spool.Record
		late []int
		// then are stored and delivered between the run and its late events.
		then []spool.Record
		// open reports that another run began before and has not ended, ended that the
		// agent's files show the run's end.
		open, ended bool
	}{
		"the end of a call":                    {recs: claudeTurn, late: tools(claudeTurn, "PostToolUse")[1:2]},
		"the ends of all calls":                {recs: claudeTurn, late: tools(claudeTurn, "PostToolUse")},
		"a turn later":                         {recs: claudeTurn, late: tools(claudeTurn, "PostToolUse")[:1], then: turn("p2")},
		"two turns later":                      {recs: claudeTurn, late: tools(claudeTurn, "PostToolUse")[:1], then: slices.Concat(turn("p2"), turn("p3"))},
		"behind a run that is open":            {recs: append(background, claudeTurn...), late: []int{5}, open: true},
		"a call of a task":                     {recs: classic, late: append(tools(classic, "PreToolUse")[:1], tools(classic, "PostToolUse")[0])},
		"the end of a call of a task":          {recs: classic, late: tools(classic, "PostToolUse")[:1]},
		"the end of a task that its files had": {recs: classic, late: tools(classic, "TaskComplete"), ended: true},
		"the end of a turn that its files had": {recs: claudeTurn, late: tools(claudeTurn, "Stop"), ended: true},
	} {
		t.Run(name, func(t *testing.T) {
			b, m := newBench(t), &memory{}
			d := b.claudeDeliverer(nil, Destination{Name: "otlp", Client: m, Batch: 512})
			d.Map.IdleTimeout = 1000 * time.Hour
			var late []spool.Record
			recs := slices.Clone(c.recs)
			for _, i := range slices.Backward(c.late) {
				late = append([]spool.Record{recs[i]}, late...)
				recs = slices.Delete(recs, i, i+1)
			}
			k := b.append(recs...)
			if at := b.clock.Now(); c.ended {
				src := d.Sources[k.Host]
				src.End = func(context.Context, string, Facts) (hook.Kind, time.Time, error) {
					return hook.KindRunComplete, at, nil
				}
				d.Sources[k.Host] = src
			}
			b.clock.Advance(2 * time.Second)
			b.run(d, Pass{})
			for n := 0; n < len(c.then); n += 4 {
				b.append(c.then[n : n+4]...)
				b.clock.Advance(2 * time.Second)
				b.run(d, Pass{})
			}
			first := b.state(k, "otlp")
			before := make(map[string]bool)
			for id := range m.spans {
				before[id.Span] = true
			}
			old := make(map[string][]byte)
			for id, s := range m.spans {
				old[id.Span], _ = proto.Marshal(s)
			}
			for n, rec := range late {
				b.append(rec, rec) // A copy comes within a second.
				b.clock.Advance(2 * time.Second)
				if r := b.run(d, Pass{})["otlp"]; r.Late != 1 || r.Runs != 0 || r.Waiting != 0 || len(r.Errors) != 0 {
					t.Errorf("late event %d: %s, want a run completed", n, mustJSON(r))
				}
			}
			want := whole(t, b, d, k)
			if len(want) == 0 || len(m.spans) != len(want) {
				t.Errorf("%d spans at the destination, want %d", len(m.spans), len(want))
			}
			for id, s := range m.spans {
				if w := want[id.Span]; w == nil || !proto.Equal(w, s) {
					t.Errorf("span %v %s differs from what the whole log gives", id, s.Name)
				}
				now, _ := proto.Marshal(s)
				if same := string(now) == string(old[id.Span]); before[id.Span] && same && m.count[id] != 1 {
					t.Errorf("span %v %s did not change and came %d times", id, s.Name, m.count[id])
				}
			}
			st := b.state(k, "otlp")
			if st.Runs != first.Runs || st.Offset != b.size(k) && !c.open {
				t.Errorf("afterwards %s", mustJSON(st))
			}
		})
	}
}

// whole maps the whole log.
func whole(t *testing.T, b *bench, d *Deliverer, k spool.Key) map[string]*tracepb.Span {
	t.Helper()
	out, err := d.prepare(t.Context(), b.session(k), &State{}, true)
	if err != nil {
		t.Fatal(err)
	}
	spans := make(map[string]*tracepb.Span)
	for _, r := range out.runs {
		for s := range otlp.Spans([]*tracepb.ResourceSpans{r.spans()}) {
			spans[otlp.SpanID(s)] = s
		}
	}
	return spans
}

// TestLateEventWaitsForItsDestination has a destination that fails when the spans of a
// late event are sent, and one that makes a document of each request.
func TestLateEventWaitsForItsDestination(t *testing.T) {
	recs := oneRun(t, "")
	i := slices.IndexFunc(recs, func(r spool.Record) bool { return r.Event == "PreToolUse" })
	late := slices.Clone(recs[i : i+2])
	recs = slices.Delete(slices.Clone(recs), i, i+2)
	for name, failure := range map[string]error{"down": &Error{Err: errTest}, "of the run": &Error{Err: errTest, RunOnly: true}} {
		b, m := newBench(t), &memory{}
		d := b.deliverer(Destination{Name: "infinium", Client: m})
		k := b.append(recs...)
		b.clock.Advance(2 * time.Second)
		b.run(d, Pass{})
		had := len(m.spans)
		b.append(late...)
		b.clock.Advance(2 * time.Second)
		m.before = fail(failure)
		if r := b.run(d, Pass{})["infinium"]; r.Late != 0 || r.Waiting != 1 || b.state(k, "infinium").Offset == b.size(k) {
			t.Errorf("%s: %s, want it waiting", name, mustJSON(r))
		}
		m.before = nil
		b.clock.Advance(time.Hour)
		if r := b.run(d, Pass{})["infinium"]; r.Late != 1 || r.Spans != 1 || len(m.spans) != had+1 || m.doubles() != 0 {
			t.Errorf("%s: %s, %d spans after %d, %d doubles; want the new span alone", name, mustJSON(r), len(m.spans), had, m.doubles())
		}
		if fmt.Sprint(b.run(d, Pass{Force: true})["infinium"].Runs) != "0" || m.doubles() != 0 {
			t.Errorf("%s: something was sent again", name)
		}
	}
}

// TestCancellationBehindAnEndSendsNothing: Cline cancels each task that it has completed.
// Where the delivery was quicker, no destination gets the task's root again for it.
func TestCancellationBehindAnEndSendsNothing(t *testing.T) {
	recs := recorded(t, "e2e-cli2/ok", "")
	end := slices.IndexFunc(recs, func(r spool.Record) bool { return r.Event == "TaskComplete" })
	if end < 0 || !slices.ContainsFunc(recs[end+1:], func(r spool.Record) bool { return r.Event == "TaskCancel" }) {
		t.Fatal("the recording has no cancellation behind its end")
	}
	b, m := newBench(t), &memory{}
	d := b.claudeDeliverer(nil, Destination{Name: "otlp", Client: m, Batch: 512})
	b.append(recs[:end+1]...)
	b.clock.Advance(2 * time.Second)
	if r := b.run(d, Pass{})["otlp"]; r.Runs != 1 {
		t.Fatalf("the task was not delivered: %s", mustJSON(r))
	}
	// The note that the task is complete may come before its cancellation.
	behind := slices.Clone(recs[end+1:])
	slices.Reverse(behind)
	b.append(behind...)
	b.clock.Advance(2 * time.Second)
	if r := b.run(d, Pass{})["otlp"]; r.Late != 0 || r.Runs != 0 || r.Spans != 0 {
		t.Errorf("behind the end: %s, want nothing sent", mustJSON(r))
	}
}

// TestCompletionBehindACancellationIsAwaited: a busy machine may start the hook of a task's
// end more than a second after that of the cancellation that Cline reports beside it.
func TestCompletionBehindACancellationIsAwaited(t *testing.T) {
	recs := recorded(t, "e2e-cli2/ok", "")
	named := func(name string) int {
		return slices.IndexFunc(recs, func(r spool.Record) bool { return r.Event == name })
	}
	end, cancel := named("TaskComplete"), named("TaskCancel")
	b, m := newBench(t), &memory{}
	d := b.deliverer(Destination{Name: "otlp", Client: m})
	b.append(recs[:end]...)
	b.append(recs[cancel])
	b.later(d, map[time.Duration]func(){1300 * time.Millisecond: func() { b.append(recs[end]) }})
	if r := b.run(d, Pass{})["otlp"]; r.Runs != 1 || r.Late != 0 || m.doubles() != 0 {
		t.Errorf("%s, %d doubles; want one run, once", mustJSON(r), m.doubles())
	}
	var outcomes []string
	for _, s := range m.spans {
		if outcome := otlp.Text(s.GetAttributes(), otelmap.KeyOutcome); outcome != "" {
			outcomes = append(outcomes, outcome)
		}
	}
	if diff := cmp.Diff([]string{otelmap.OutcomeCompleted}, outcomes); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
}
