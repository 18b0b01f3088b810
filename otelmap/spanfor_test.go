package otelmap

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
	"pgregory.net/rapid"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/otelmap/spanid"
)

const context = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// placed is where the finished spans have an event: the trace, and the span of
// its call or of the root.
func placed(b *Builder, now time.Time) map[string]string {
	names := map[string]string{}
	for _, r := range b.Runs(now) {
		for _, s := range spansOf(b, r, nil) {
			names[traceparent(s)] = s.Name
		}
	}
	return names
}

// TestSpanForReturnsTheLaterSpan asks at every call and prompt with what is known
// by then, and looks for the answer in the finished spans.
func TestSpanForReturnsTheLaterSpan(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		events := hooked(rt)
		o := Options{}
		switch rapid.IntRange(0, 2).Draw(rt, "context") {
		case 1:
			for i := range events {
				events[i].TraceParent = context
			}
		case 2:
			o.Traceparent = context
		}
		checkPlaces(rt, events, func(events []hook.Event) *Builder { return build(o, Carry{}, events) })
	})
}

// TestSpanForOfTurns is the same for a host that numbers its turns.
func TestSpanForOfTurns(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		events := turnHistory(rt)
		checkPlaces(rt, events, func(events []hook.Event) *Builder { return buildTurns(Carry{}, events) })
	})
}

func checkPlaces(rt *rapid.T, events []hook.Event, build func([]hook.Event) *Builder) {
	whole := build(events)
	names := placed(whole, last(events).Add(time.Hour))
	for i := range events {
		e := &events[i]
		if e.Kind != hook.KindToolStart && e.Kind != hook.KindToolEnd && e.Kind != hook.KindPrompt {
			continue
		}
		sc, _, ok := build(events[:i+1]).SpanFor(e)
		want, _, later := whole.SpanFor(e)
		if ok != later || !sc.Equal(want) {
			rt.Fatalf("event %d (%s): %s, %v when it came, %s, %v with all events", i, e.Kind, header(sc), ok, header(want), later)
		}
		if !ok {
			if whole.find(e) != nil && !whole.turns() {
				rt.Fatalf("event %d (%s) has no place", i, e.Kind)
			}
			continue
		}
		name := OpInvokeAgent + " " + whole.host
		if e.Tool != nil {
			name = OpExecuteTool + " "
		}
		if got := names[header(sc)]; !strings.HasPrefix(got, name) {
			rt.Fatalf("event %d (%s): %s is the span %q, want %q", i, e.Kind, header(sc), got, name)
		}
	}
}

// TestSpanForInAPartOfTheLog wants a reader of a log's end to say what a reader of
// the whole says, or nothing.
func TestSpanForInAPartOfTheLog(t *testing.T) {
	answers := 0
	rapid.Check(t, func(rt *rapid.T) {
		events := hooked(rt)
		from := rapid.IntRange(0, len(events)-1).Draw(rt, "from")
		whole, part := build(Options{}, Carry{}, events), build(Options{}, Carry{}, events[from:])
		part.SetPartial()
		for i := from; i < len(events); i++ {
			got, _, ok := part.SpanFor(&events[i])
			want, _, _ := whole.SpanFor(&events[i])
			if ok && !got.Equal(want) {
				rt.Fatalf("event %d (%s) of %d read from %d: %s, of all: %s", i, events[i].Kind, len(events), from, header(got), header(want))
			}
			if ok {
				answers++
			}
		}
	})
	if answers == 0 {
		t.Error("no reader of a part has ever said anything")
	}
}

func TestSpanForOfTasks(t *testing.T) {
	start, ask := ev(0, hook.KindRunStart), prompt(1, "go")
	pre, post := tool(2, hook.KindToolStart, "a", ""), tool(3, hook.KindToolEnd, "a", "")
	alone := tool(4, hook.KindToolEnd, "b", "x")
	other := tool(5, hook.KindToolStart, "a", "")
	agent := sub(tool(6, hook.KindToolStart, "a", ""), "p", "lead")
	done, next := ev(8, hook.KindRunComplete), ev(9, hook.KindRunStart)
	events := logged(start, ask, pre, post, alone, other, sub(ev(5.5, hook.KindRunStart), "p", "lead"), agent, done, next)
	b := build(Options{}, Carry{}, events)
	place := func(e hook.Event) string { return placeWith(b, e) }
	starts := logged(ev(0, hook.KindRunStart), ev(1, hook.KindRunResume), ev(2, hook.KindRunResume), ev(3, hook.KindRunResume))
	asked := logged(ev(0, hook.KindRunStart), prompt(1, "go"), prompt(2, "and on"), ev(3, hook.KindRunComplete), prompt(4, "again"))
	runs := b.Runs(far)
	root := func(r *Run) string { return header(r.rootContext(&b.opts)) }
	for name, same := range map[string][2]string{
		"a prompt is of the root":           {place(ask), root(runs[0])},
		"the end is of the root":            {place(done), root(runs[0])},
		"the two ends of a call":            {place(pre), place(post)},
		"what begins a run is of its root":  {place(next), root(runs[1])},
		"an event that was not added":       {place(tool(7, hook.KindToolStart, "a", "")), ""},
		"a record of hooks has no span":     {place(logRun(pre, "x")), ""},
		"an event of a partial log's start": {placeIn(events[2:], pre), ""},
		"an agent's event of a partial log": {placeIn(events, agent), ""},
		"one of many starts at a time":      {placeIn(starts[1:], starts[3]), ""},
		"the same from the beginning":       {placeWith(build(Options{}, Carry{}, starts), starts[3]), placeWith(build(Options{}, Carry{}, starts), starts[2])},
		"a prompt after an end, partial":    {placeIn(asked[2:], asked[4]), placeWith(build(Options{}, Carry{}, asked), asked[4])},
		"a prompt without an end before it": {placeIn(asked[1:], asked[2]), ""},
		"a later run of a partial log":      {placeIn([]hook.Event{post, alone, done, next, prompt(10, "on")}, prompt(10, "on")), root(runs[1])},
	} {
		if same[0] != same[1] {
			t.Errorf("%s: %q, want %q", name, same[0], same[1])
		}
	}
	calls := []string{place(pre), place(alone), place(other), place(agent), root(runs[0])}
	slices.Sort(calls)
	if n := len(slices.Compact(calls)); n != 5 {
		t.Errorf("4 calls and the root have %d spans: %v", n, calls)
	}
}

func placeIn(part []hook.Event, e hook.Event) string {
	b := build(Options{}, Carry{}, part)
	b.SetPartial()
	return placeWith(b, e)
}

func placeWith(b *Builder, e hook.Event) string {
	sc, _, ok := b.SpanFor(&e)
	if !ok {
		return ""
	}
	return header(sc)
}

func TestTraceparentParsesBack(t *testing.T) {
	sc, ok := parseTraceparent(context)
	if !ok || header(sc) != context {
		t.Errorf("%s comes back as %s", context, header(sc))
	}
}

// BenchmarkPlace asks after many calls, which is what each hook process costs.
func BenchmarkPlace(b *testing.B) {
	for _, calls := range []int{10, 1000, 5000} {
		events := []hook.Event{ev(0, hook.KindRunStart)}
		for i := range calls {
			at := float64(i)
			events = append(events, tool(at+1, hook.KindToolStart, "read_file", ""), tool(at+1.5, hook.KindToolEnd, "read_file", ""))
		}
		events = logged(events...)
		b.Run(fmt.Sprint(calls), func(b *testing.B) {
			for b.Loop() {
				if _, _, ok := build(Options{Capture: CaptureNone}, Carry{}, events).SpanFor(&events[len(events)-1]); !ok {
					b.Fatal("no place")
				}
			}
		})
	}
}

func header(sc trace.SpanContext) string { return spanid.Traceparent(sc.TraceID(), sc.SpanID()) }
