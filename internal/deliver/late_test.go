package deliver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/checkout"
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
			d.Look = func(string) *checkout.Look {
				return &checkout.Look{Git: "/w/.git", Moved: began.Add(-time.Hour), Repository: hook.Repository{Name: "shop", Branch: "main"}}
			}
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
	for name, failure := range map[string]error{
		"down": &Error{Err: errTest}, "of the run": &Error{Err: errTest, RunOnly: true}, "refused": &Error{Err: errTest, Permanent: true},
	} {
		b, m := newBench(t), &memory{}
		d := b.deliverer(Destination{Name: "infinium", Client: m})
		k := b.append(recs...)
		b.clock.Advance(2 * time.Second)
		b.run(d, Pass{})
		had := len(m.spans)
		b.append(late...)
		b.clock.Advance(2 * time.Second)
		m.before = fail(failure)
		if r := b.run(d, Pass{})["infinium"]; r.Late != 0 || r.Waiting+r.Parked != 1 || b.state(k, "infinium").Offset == b.size(k) && len(b.state(k, "infinium").Parked) == 0 {
			t.Errorf("%s: %s, want it waiting", name, mustJSON(r))
		}
		m.before = nil
		b.clock.Advance(time.Hour)
		if r := b.run(d, Pass{Force: name == "refused"})["infinium"]; r.Late != 1 || r.Spans != 1 || len(m.spans) != had+1 || m.doubles() != 0 {
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

// TestCompletionBehindADeliveredCancellationReplacesIt has a completion of before the cancellation, whose
// hook is slower than the delivery.
func TestCompletionBehindADeliveredCancellationReplacesIt(t *testing.T) {
	recs := recorded(t, "e2e-cli2/ok", "")
	named := func(name string) int {
		return slices.IndexFunc(recs, func(r spool.Record) bool { return r.Event == name })
	}
	end, cancel := named("TaskComplete"), named("TaskCancel")
	b, m := newBench(t), &memory{}
	d := b.deliverer(Destination{Name: "otlp", Client: m, Batch: 512})
	b.append(recs[:end]...)
	k := b.append(recs[cancel])
	b.clock.Advance(2 * otelmap.CancelGrace)
	if r := b.run(d, Pass{})["otlp"]; r.Runs != 1 {
		t.Fatalf("the task was not delivered: %s", mustJSON(r))
	}
	b.append(recs[end])
	b.clock.Advance(2 * otelmap.CancelGrace)
	b.run(d, Pass{})
	want := whole(t, b, d, k)
	for id, s := range m.spans {
		if w := want[id.Span]; w == nil || !proto.Equal(w, s) {
			t.Errorf("span %v %s differs from what the whole log gives", id, s.Name)
		}
	}
}

// lateEnds are turns with a call each, and the ends of the calls, which are stored later.
func lateEnds(turns int) (recs [][]spool.Record, ends []spool.Record) {
	for i := range turns {
		t := turn(fmt.Sprintf("p%d", i))
		ends = append(ends, t[2])
		recs = append(recs, slices.Delete(t, 2, 3))
	}
	return recs, ends
}

// TestLateChangeThatIsNotTakenWaits refuses what a late event changes. It is sent when the
// destination takes it, and nothing else with it; the run's other events wait with it.
func TestLateChangeThatIsNotTakenWaits(t *testing.T) {
	for name, c := range map[string]struct {
		err error
		// forced reports that only a forced pass sends it again.
		forced bool
	}{
		"refused": {&Error{Err: errTest, Permanent: true}, true},
		"denied":  {&Error{Err: errTest, Permanent: true, Denied: true}, false},
		"failed":  {&Error{Err: errTest, RunOnly: true, After: time.Hour}, false},
	} {
		t.Run(name, func(t *testing.T) {
			recs, ends := lateEnds(3)
			b, m := newBench(t), &memory{}
			var taken time.Time
			d := b.claudeDeliverer(nil, Destination{Name: "otlp", Client: m, Batch: 512, Taken: func() time.Time { return taken }})
			d.Map.IdleTimeout = 1000 * time.Hour
			var k spool.Key
			deliver := func(p Pass, recs ...spool.Record) Result {
				if len(recs) > 0 {
					k = b.append(recs...)
				}
				b.clock.Advance(3 * time.Second)
				return b.run(d, p)["otlp"]
			}
			for _, r := range recs {
				deliver(Pass{}, r...)
			}
			had, calls := len(m.spans), m.calls
			m.before = fail(c.err)
			deliver(Pass{}, ends[0])
			if p := b.state(k, "otlp").Parked; len(p) != 1 || p[0].Late == 0 {
				t.Fatalf("parked %s, want what the late event changes", mustJSON(p))
			}
			for range 3 {
				deliver(Pass{})
			}
			if m.calls != calls+1 {
				t.Errorf("%d calls, want one", m.calls-calls)
			}
			m.before = nil
			if r := deliver(Pass{}, said("Notification", "p0", ""), turn("p9")[0], turn("p9")[3]); r.Runs != 1 {
				t.Fatalf("another run: %s", mustJSON(r))
			}
			taken = b.clock.Now()
			b.clock.Advance(2 * time.Hour)
			if r := deliver(Pass{Force: c.forced}); r.Late != 1 || r.Waiting != 0 || len(b.state(k, "otlp").Parked) != 0 {
				t.Errorf("%s, state %s; want the change sent", mustJSON(r), mustJSON(b.state(k, "otlp")))
			}
			want := whole(t, b, d, k)
			for id, s := range m.spans {
				if w := want[id.Span]; !proto.Equal(w, s) {
					t.Errorf("span %v %s differs from what the whole log gives", id, s.Name)
				}
				delete(want, id.Span)
			}
			if len(want) != 0 {
				t.Errorf("%d spans after %d; %d are missing", len(m.spans), had, len(want))
			}
		})
	}
}

// TestLateEventAfterAHalfPass stores the late ends of calls of two turns. The destination takes
// what one changes and is down for the other, so that the position stays; then a further end is
// stored of the turn that it took.
func TestLateEventAfterAHalfPass(t *testing.T) {
	b, m := newBench(t), &memory{}
	d := b.claudeDeliverer(nil, Destination{Name: "otlp", Client: m, Batch: 512})
	var k spool.Key
	var late [][]spool.Record
	for _, id := range []string{"p0", "p1"} {
		recs := longTurn(id, 2)
		late = append(late, []spool.Record{recs[2], recs[4]})
		k = b.append(slices.Delete(slices.Delete(recs, 4, 5), 2, 3)...)
	}
	b.clock.Advance(3 * time.Second)
	b.run(d, Pass{})
	b.append(late[0][0], late[1][0])
	b.clock.Advance(3 * time.Second)
	calls := m.calls
	m.before = func(context.Context, []*tracepb.ResourceSpans) error {
		if m.calls == calls+1 {
			return nil
		}
		return errTest
	}
	if r := b.run(d, Pass{})["otlp"]; r.Late != 1 || r.Waiting == 0 {
		t.Fatalf("%s, want one change sent and one waiting", mustJSON(r))
	}
	m.before = nil
	b.append(late[0][1], late[1][1])
	b.clock.Advance(time.Hour)
	b.run(d, Pass{})
	want := whole(t, b, d, k)
	for id, s := range m.spans {
		if w := want[id.Span]; !proto.Equal(w, s) {
			t.Errorf("span %v %s differs from what the whole log gives", id, s.Name)
		}
		delete(want, id.Span)
	}
	if st := b.state(k, "otlp"); len(want) != 0 || st.Offset != b.size(k) {
		t.Errorf("%d spans are missing; %s", len(want), mustJSON(st))
	}
}

// TestLateEventAtEveryAge stores the end of a call up to 200 turns later.
func TestLateEventAtEveryAge(t *testing.T) {
	const turns = 200
	recs, ends := lateEnds(turns)
	b, m := newBench(t), &memory{}
	d := b.claudeDeliverer(nil, Destination{Name: "otlp", Client: m, Batch: 512})
	d.Map.IdleTimeout = 1000 * time.Hour
	decoded, src := 0, d.Sources["claude-code"]
	src.Decode = hooked(src.Decode, func() { decoded++ })
	d.Sources["claude-code"] = src
	var k spool.Key
	for _, r := range recs {
		k = b.append(r...)
		b.clock.Advance(3 * time.Second)
		b.run(d, Pass{})
	}
	if decoded > 12*turns {
		t.Errorf("%d events decoded for %d turns of 3", decoded, turns)
	}
	for _, age := range []int{1, 2, 10, 63, 64, 65, 66, 100, 150, 199, 200} {
		i := turns - age
		b.append(ends[i])
		b.clock.Advance(3 * time.Second)
		decoded = 0
		if r := b.run(d, Pass{})["otlp"]; r.Late != 1 || r.Runs != 0 {
			t.Errorf("%d turns later: %s, want a run completed", age, mustJSON(r))
		}
		if decoded > 80 {
			t.Errorf("%d turns later: %d events decoded", age, decoded)
		}
	}
	want := whole(t, b, d, k)
	if len(m.spans) != len(want) {
		t.Errorf("%d spans, want %d", len(m.spans), len(want))
	}
	for id, s := range m.spans {
		if w := want[id.Span]; !proto.Equal(w, s) {
			t.Errorf("span %v %s differs from what the whole log gives:\n%s", id, s.Name, cmp.Diff(fmt.Sprint(w), fmt.Sprint(s)))
		}
	}
}

// TestLateChangeOfAnotherPlaceWaits delivers a run's late event with the settings of another
// project, then with its own.
func TestLateChangeOfAnotherPlaceWaits(t *testing.T) {
	recs, ends := lateEnds(2)
	b, m := newBench(t), &memory{}
	d := b.claudeDeliverer(nil, Destination{Name: "otlp", Client: m, Batch: 512})
	own := func(settings string) (Terms, bool) { return Terms{}, settings == "a" }
	d.Judge = own
	store := func(recs ...spool.Record) (k spool.Key) {
		for i := range recs {
			recs[i].Settings = "a"
			k = b.append(recs[i])
		}
		b.clock.Advance(3 * time.Second)
		return k
	}
	k := store(slices.Concat(recs...)...)
	b.run(d, Pass{})
	store(ends[0])
	d.Judge = func(settings string) (Terms, bool) { return Terms{}, settings == "b" }
	other := turn("p9")
	for i := range other {
		other[i].Settings = "b"
	}
	b.append(other...)
	b.clock.Advance(3 * time.Second)
	if r := b.run(d, Pass{})["otlp"]; r.Late != 0 || r.Elsewhere != 1 || len(b.state(k, "otlp").Parked) != 1 {
		t.Fatalf("from another place: %s, want it waiting", mustJSON(r))
	}
	d.Judge = own
	if r := b.run(d, Pass{})["otlp"]; r.Late != 1 || len(b.state(k, "otlp").Parked) != 0 {
		t.Errorf("from its own: %s, want it sent", mustJSON(r))
	}
	want := whole(t, b, d, k)
	for id, s := range m.spans {
		if !proto.Equal(want[id.Span], s) {
			t.Errorf("span %v %s differs from what the whole log gives", id, s.Name)
		}
	}
}

// TestLateEventWithoutAnIndex damages the index in different ways, before and after another run
// is added to it: then the log is read from its start.
func TestLateEventWithoutAnIndex(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"missing": os.Remove,
		"cut":     func(path string) error { return os.Truncate(path, 100) },
		"zeros":   func(path string) error { return os.WriteFile(path, make([]byte, 1<<16), 0o600) },
		"no file": func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
	} {
		for _, between := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, another run %t", name, between), func(t *testing.T) {
				recs, ends := lateEnds(3)
				b, m := newBench(t), &memory{}
				d := b.claudeDeliverer(nil, Destination{Name: "otlp", Client: m, Batch: 512})
				k := b.append(slices.Concat(recs...)...)
				b.clock.Advance(3 * time.Second)
				b.run(d, Pass{})
				if err := damage(b.path(k, "runs-otlp.jsonl")); err != nil {
					t.Fatal(err)
				}
				another := func() {
					b.append(turn("p9")...)
					b.clock.Advance(3 * time.Second)
					if r := b.run(d, Pass{})["otlp"]; r.Runs != 1 || len(r.Errors) > 0 {
						t.Errorf("%s, want another run", mustJSON(r))
					}
				}
				if between {
					another()
				}
				for _, end := range ends {
					b.append(end)
					b.clock.Advance(3 * time.Second)
					if r := b.run(d, Pass{})["otlp"]; r.Late != 1 || len(r.Errors) > 0 {
						t.Errorf("%s, want a run completed", mustJSON(r))
					}
				}
				if !between {
					another()
				}
				calls := m.calls
				if b.run(d, Pass{}); m.calls != calls {
					t.Errorf("%d requests more", m.calls-calls)
				}
				want := whole(t, b, d, k)
				if len(m.spans) != len(want) {
					t.Errorf("%d spans, want %d", len(m.spans), len(want))
				}
				for id, s := range m.spans {
					if !proto.Equal(want[id.Span], s) {
						t.Errorf("span %v %s differs from what the whole log gives", id, s.Name)
					}
				}
			})
		}
	}
}

// TestCallsBehindSeveralEndsOfATurn has a turn that the user's hooks make continue, once at its end and
// once after the ends were delivered: what it does then begins a part of the turn.
func TestCallsBehindSeveralEndsOfATurn(t *testing.T) {
	for _, first := range []bool{false, true} {
		b, m := newBench(t), &memory{}
		d := b.claudeDeliverer(nil, Destination{Name: "store", Client: m, Local: true})
		stop := func(again bool, after time.Duration) {
			b.append(said("Stop", "p1", fmt.Sprintf(`"stop_hook_active":%t,"last_assistant_message":"done"`, again)))
			b.clock.Advance(after)
			b.run(d, Pass{})
		}
		b.append(turn("p1")[0])
		stop(first, 15*time.Second)
		stop(true, 40*time.Second)
		b.append(turn("p1")[1])
		b.clock.Advance(15 * time.Second)
		b.run(d, Pass{})
		b.append(turn("p1")[2])
		stop(true, time.Hour)
		calls := 0
		for _, s := range m.spans {
			if strings.HasPrefix(s.GetName(), "execute_tool") {
				calls++
			}
		}
		if calls != 1 {
			t.Errorf("the first end by a hook %t: %d calls arrived, want 1", first, calls)
		}
	}
}

// TestCallBehindThePartOfAnotherTurn has two turns of a session, of which the user's hooks make both
// continue after their ends were delivered.
func TestCallBehindThePartOfAnotherTurn(t *testing.T) {
	b, m := newBench(t), &memory{}
	d := b.claudeDeliverer(nil, Destination{Name: "store", Client: m, Local: true, Batch: 512})
	stop := func(turn string) spool.Record { return said("Stop", turn, `"stop_hook_active":true`) }
	for _, recs := range [][]spool.Record{
		{turn("p1")[0], stop("p1"), turn("p2")[0], stop("p2"), stop("p1")},
		append([]spool.Record{stop("p1")}, turn("p2")[1:3]...),
		{stop("p2")},
	} {
		b.append(recs...)
		b.clock.Advance(15 * time.Second)
		b.run(d, Pass{})
	}
	calls := 0
	for _, s := range m.spans {
		if strings.HasPrefix(s.GetName(), "execute_tool") {
			calls++
		} else if outcome := otlp.Text(s.GetAttributes(), otelmap.KeyOutcome); outcome != otelmap.OutcomeCompleted {
			t.Errorf("a turn is %s, want completed", outcome)
		}
	}
	if calls != 1 {
		t.Errorf("%d calls arrived, want 1", calls)
	}
}

// TestCallsOfATurnThatContinues has the ends of calls stored after their part of the turn was delivered.
// Each call has one span then.
func TestCallsOfATurnThatContinues(t *testing.T) {
	prompt := func(turn string) spool.Record { return said("UserPromptSubmit", turn, `"prompt":"do it"`) }
	stop := func(turn string) spool.Record { return said("Stop", turn, `"stop_hook_active":true`) }
	pre := func(id string) spool.Record {
		return said("PreToolUse", "p1", fmt.Sprintf(`"tool_name":"Bash","tool_input":{},"tool_use_id":%q`, id))
	}
	post := func(id string) spool.Record {
		return said("PostToolUse", "p1", fmt.Sprintf(`"tool_name":"Bash","tool_input":{},"tool_use_id":%q,"tool_response":"ok"`, id))
	}
	type step struct {
		recs            []spool.Record
		refused, silent bool
	}
	does := func(recs ...spool.Record) step { return step{recs: recs} }
	refused := func(recs ...spool.Record) step { return step{recs: recs, refused: true} }
	// behind is a step behind which the turn is silent for longer than a run may be.
	behind := func(recs ...spool.Record) step { return step{recs: recs, silent: true} }
	agent := said("SubagentStart", "p0", `"agent_id":"a1","agent_type":"Explore"`)
	subagents := func(event, members string) spool.Record {
		return said(event, "p1", `"agent_id":"a1","agent_type":"Explore"`+members)
	}
	const callC = `,"tool_name":"Bash","tool_input":{},"tool_use_id":"c"`
	for name, steps := range map[string][]step{
		"the end is stored in the next part": {does(prompt("p1"), pre("a"), stop("p1")), does(pre("b"), post("a"), post("b"), stop("p1"))},
		"the end is stored while the next part is open": {
			does(prompt("p1"), pre("a"), stop("p1")), does(pre("b"), post("a")), does(post("b"), stop("p1")),
		},
		"the end of a call of a later part": {does(prompt("p1"), stop("p1")), does(pre("a"), prompt("p2")), does(post("a"), stop("p2"))},
		"the ends of calls of two parts": {
			does(prompt("p1"), pre("a"), stop("p1")), does(pre("b"), stop("p1")), does(post("b"), post("a")), does(prompt("p2"), stop("p2")),
		},
		"a later part is refused first": {does(prompt("p1"), stop("p1")), refused(pre("a"), post("a"), stop("p1")), does()},
		"beside an agent of another turn": {
			does(prompt("p0"), agent, stop("p0"), prompt("p1"), stop("p1")), does(pre("a"), post("a")), does(stop("p1")),
		},
		"a late call is refused while its turn continues": {
			does(prompt("p1"), stop("p1"), prompt("p2"), stop("p2"), stop("p1")), does(stop("p2")), refused(pre("a"), post("a")), does(),
		},
		"the prompt is stored behind an end": {does(stop("p1"), prompt("p1"), pre("a"), post("a")), does(prompt("p2"), stop("p2"))},
		"an earlier part was silent":         {behind(prompt("p1")), does(pre("a"), stop("p1")), behind(post("a"))},
		"an earlier part was silent, and another turn began": {
			behind(prompt("p1")), does(pre("a"), stop("p1")), does(prompt("p2"), stop("p2")), behind(post("a")),
		},
		"an earlier part was silent, and a later one ends again": {
			behind(prompt("p1")), does(pre("a"), stop("p1")), does(stop("p1")), behind(post("a")),
		},
		"it continued at its end and was silent": {behind(prompt("p1"), stop("p1"), pre("a")), behind(post("b"), stop("p1"))},
		"a subagent's call, beside another part of the turn": {
			does(subagents("SubagentStart", ""), stop("p1")), does(prompt("p1")), does(subagents("SubagentStop", ""), stop("p1")),
			behind(subagents("PostToolUse", callC)),
		},
		"a subagent's call, it works on in the next part": {
			does(subagents("PreToolUse", callC), subagents("SubagentStop", ""), stop("p1")),
			does(subagents("PreToolUse", strings.ReplaceAll(callC, `"c"`, `"d"`))), behind(subagents("PostToolUse", callC)),
		},
		"a subagent's call, an earlier part was silent": {
			behind(prompt("p1")), does(subagents("SubagentStart", ""), subagents("PreToolUse", callC), subagents("SubagentStop", ""), stop("p1")),
			behind(subagents("PostToolUse", callC)),
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, m := newBench(t), &memory{}
			d := b.claudeDeliverer(nil, Destination{Name: "store", Client: m, Local: true, Batch: 512})
			calls, want := make(map[string]int), make(map[string]int)
			for _, s := range steps {
				m.before = nil
				if s.refused {
					m.before = fail(&Error{Err: errTest, Permanent: true})
				}
				for _, r := range s.recs {
					b.append(r)
					if _, id, ok := strings.Cut(string(r.Payload), `"tool_use_id":"`); ok {
						want[id[:1]] = 1
					}
				}
				b.clock.Advance(15 * time.Second)
				if s.silent {
					b.clock.Advance(d.Map.IdleTimeout)
				}
				b.run(d, Pass{Force: len(s.recs) == 0})
			}
			for _, s := range m.spans {
				if strings.HasPrefix(s.GetName(), "execute_tool") {
					calls[otlp.Text(s.GetAttributes(), otelmap.KeyToolCallID)]++
				}
			}
			if diff := cmp.Diff(want, calls); diff != "" {
				t.Errorf("spans of the calls (-want +got):\n%s", diff)
			}
		})
	}
}
