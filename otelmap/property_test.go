package otelmap

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
)

// history draws a session as a host could report it: any event at any moment,
// with or without its counterpart, lead agent and subagents alike.
func history(t *rapid.T) []hook.Event {
	kinds := []hook.Kind{
		hook.KindRunStart, hook.KindRunResume, hook.KindPrompt, hook.KindToolStart, hook.KindToolStart,
		hook.KindToolEnd, hook.KindToolEnd, hook.KindCompact, hook.KindNotification, hook.KindRunComplete,
		hook.KindRunCancel, hook.KindRunError, hook.KindSessionEnd,
	}
	n := rapid.IntRange(1, 40).Draw(t, "events")
	now := 0.0
	var out []hook.Event
	for i := range n {
		// Now and then the user goes away for longer than a run may be silent.
		now += rapid.SampledFrom([]float64{0.001, 0.2, 1, 30, 4000}).Draw(t, "pause")
		k := rapid.SampledFrom(kinds).Draw(t, "kind")
		e := ev(now, k)
		if k == hook.KindToolStart || k == hook.KindToolEnd {
			e = tool(now, k, rapid.SampledFrom([]string{"a", "b"}).Draw(t, "tool"),
				rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "id"))
			if k == hook.KindToolEnd {
				e.Tool.Status = hook.ToolStatus(rapid.IntRange(0, 2).Draw(t, "status")) //nolint:gosec // 0 to 2.
				e.Tool.Duration = time.Duration(rapid.IntRange(-1, 5000).Draw(t, "ms")) * time.Millisecond
			}
		}
		e.Hash = uint64(i) + 1 //nolint:gosec // Small.
		if rapid.IntRange(0, 3).Draw(t, "who") == 0 {
			h := e.Hash
			e = sub(e, rapid.SampledFrom([]string{"p", "q"}).Draw(t, "agent"), rapid.SampledFrom([]string{"lead", "p"}).Draw(t, "parent"))
			e.Hash = h
		}
		out = append(out, e)
	}
	return logged(out...)
}

// hooked is a history in which the user's hooks ran for some of the events, once
// or in two copies of one hook file, and were recorded at once or later.
func hooked(t *rapid.T) []hook.Event {
	type entry struct {
		e  hook.Event
		at float64
	}
	var log []entry
	for i, e := range history(t) {
		log = append(log, entry{e, float64(i)})
		for n := range rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "hook files") {
			answer := hook.HookAnswer{By: fmt.Sprint("guard", n), Reason: "no"}
			switch rapid.IntRange(0, 3).Draw(t, "answer") {
			case 0:
				answer.Cancelled = true
			case 1:
				answer.SoftDenied = true
			}
			rec := ranFirst(e, rapid.IntRange(0, 3).Draw(t, "ms"), answer)
			rec.Hash = uint64(1)<<40 + uint64(i)<<8 + uint64(n) //nolint:gosec // Small.
			log = append(log, entry{rec, float64(i) + rapid.SampledFrom([]float64{0.1, 0.2, 2.5}).Draw(t, "recorded")})
		}
	}
	slices.SortStableFunc(log, func(x, y entry) int { return cmp.Compare(x.at, y.at) })
	out := make([]hook.Event, len(log))
	for i := range log {
		out[i] = log[i].e
	}
	return logged(out...)
}

// last is the time of the newest event.
func last(events []hook.Event) time.Time {
	return slices.MaxFunc(events, func(x, y hook.Event) int { return x.StoredAt.Compare(y.StoredAt) }).StoredAt
}

func TestEveryHistoryGivesWholeTraces(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		events := hooked(rt)
		checkWhole(rt, build(Options{}, Carry{}, events), last(events).Add(time.Hour))
	})
}

// checkWhole wants every run ended, once and with whole traces. now is an hour
// after the last event.
func checkWhole(rt *rapid.T, b *Builder, now time.Time) {
	seen := map[RunID]bool{}
	for _, r := range b.Runs(now) {
		if !r.Ended {
			rt.Errorf("run %s has not ended after an hour of silence", r.ID)
		}
		if seen[r.ID] {
			rt.Errorf("run %s is repeated", r.ID)
		}
		seen[r.ID] = true
		whole(rt, b, r)
	}
}

func whole(rt *rapid.T, b *Builder, r *Run) {
	spans := spansOf(b, r, nil)
	ids := map[string]bool{}
	starts := map[string]time.Time{}
	for _, s := range spans {
		ids[otlp.SpanID(s)] = true
		starts[otlp.SpanID(s)] = otlp.Start(s)
	}
	if len(ids) != len(spans) {
		rt.Errorf("%d spans, %d ids", len(spans), len(ids))
	}
	for i, s := range spans {
		if otlp.End(s).Before(otlp.Start(s)) || otlp.Start(s).IsZero() {
			rt.Errorf("%q runs from %s to %s", s.Name, otlp.Start(s), otlp.End(s))
		}
		if i > 0 && !ids[otlp.ParentID(s)] {
			rt.Errorf("%q has no parent in its run", s.Name)
		}
		if otlp.Start(s).Before(starts[otlp.ParentID(s)]) {
			rt.Errorf("%q begins at %s, before its parent", s.Name, otlp.Start(s))
		}
	}
	// No span is its own ancestor.
	parent := map[string]string{}
	for _, s := range spans {
		parent[otlp.SpanID(s)] = otlp.ParentID(s)
	}
	for id := range ids {
		steps := 0
		for at := id; ids[at]; at = parent[at] {
			if steps++; steps > len(spans) {
				rt.Fatalf("span %s is its own ancestor", id)
			}
		}
	}
}

func TestOrderAndCopiesChangeNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		events := hooked(rt)
		after := last(events).Add(time.Hour)
		inOrder := build(Options{}, Carry{}, events)

		type late struct {
			e  hook.Event
			at time.Time
		}
		var log []late
		for _, e := range events {
			for range rapid.IntRange(1, 2).Draw(rt, "copies") {
				log = append(log, late{e, e.At().Add(time.Duration(rapid.IntRange(0, 20_000).Draw(rt, "late")) * time.Millisecond)})
			}
		}
		slices.SortStableFunc(log, func(x, y late) int { return x.at.Compare(y.at) })
		shuffled := make([]hook.Event, len(log))
		for i := range log {
			shuffled[i] = log[i].e
		}
		b := build(Options{}, Carry{}, logged(shuffled...))
		if diff := diffButIDs(inOrder, b, after); diff != "" {
			rt.Fatalf("spans differ (-in order +shuffled):\n%s", diff)
		}
	})
}

// TestReadingFromABoundaryGivesTheSameRuns answers for some runs, starts again from
// the boundary and wants the other runs unchanged.
func TestReadingFromABoundaryGivesTheSameRuns(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		events := hooked(rt)
		readOn(rt, events, last(events).Add(time.Hour), func(c Carry, events []hook.Event) *Builder {
			return build(Options{}, c, events)
		})
	})
}

func readOn(rt *rapid.T, events []hook.Event, after time.Time, build func(Carry, []hook.Event) *Builder) {
	readOnFiles(rt, events, nil, after, build)
}

func readOnFiles(rt *rapid.T, events []hook.Event, tr *hook.Transcript, after time.Time, build func(Carry, []hook.Event) *Builder) {
	b := build(Carry{}, events)
	defer func() {
		if rt.Failed() {
			rt.Logf("%s", &drawn{events: events})
		}
	}()
	runs := b.Runs(after)
	done := map[RunID]bool{}
	for _, r := range runs {
		done[r.ID] = rapid.Bool().Draw(rt, "done")
	}
	size := int64(len(events) * 100)
	off, carry := b.Boundary(func(id RunID) bool { return done[id] }, size)
	rest := build(carry, events[off/100:])
	again := map[RunID]string{}
	for _, r := range rest.Runs(after) {
		again[r.ID] = fmt.Sprint(plain(rest.Spans(r, tr)))
	}
	for _, r := range runs {
		got, there := again[r.ID]
		switch {
		case !there && !done[r.ID]:
			rt.Errorf("run %s (%s) is before the boundary %d but is not done", r.ID, r.Outcome, off)
		case there && got != fmt.Sprint(plain(b.Spans(r, tr))):
			rt.Errorf("run %s reads otherwise from the boundary %d (-whole +rest):\n%s", r.ID, off,
				gocmp.Diff(strings.Split(fmt.Sprint(plain(b.Spans(r, tr))), "\n"), strings.Split(got, "\n")))
		}
		delete(again, r.ID)
	}
	for id := range again {
		rt.Errorf("run %s is there only from the boundary %d on", id, off)
	}
}

func TestBatchesHoldTheSpansOfTheWholeRun(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		events := hooked(rt)
		b := build(Options{}, Carry{}, events)
		size := rapid.IntRange(1, 5).Draw(rt, "size")
		for _, r := range b.Runs(last(events).Add(time.Hour)) {
			whole := b.Spans(r, nil)
			want := otlp.Split([]*tracepb.ResourceSpans{whole}, size)
			got := slices.Collect(b.Batches(r, nil)(size))
			if !slices.EqualFunc(want, got, func(x []*tracepb.ResourceSpans, y *tracepb.ResourceSpans) bool { return proto.Equal(x[0], y) }) {
				rt.Errorf("the batches of %d spans are not those of the whole run", size)
			}
		}
	})
}

func all(b *Builder, now time.Time) []string { return mapped(b, b.Runs(now)) }

func mapped(b *Builder, runs []*Run) []string {
	var out []string
	for _, r := range runs {
		out = append(out, r.ID.String()+" "+r.Outcome)
		out = append(out, plain(b.Spans(r, nil))...)
	}
	return out
}

// diffButIDs compares the spans that two orders of a log give. The ids of runs alone depend on it.
func diffButIDs(x, y *Builder, now time.Time) string {
	want, got := x.Runs(now), y.Runs(now)
	for i, r := range got[:min(len(want), len(got))] {
		if r.ID = want[i].ID; i > 0 {
			r.prev = got[i-1].after(&y.opts)
		}
	}
	return gocmp.Diff(mapped(x, want), mapped(y, got))
}

func BenchmarkMapping(b *testing.B) {
	const calls = 1000
	events := []hook.Event{ev(0, hook.KindRunStart)}
	for i := range calls {
		at := float64(i)
		events = append(events, tool(at+1, hook.KindToolStart, "read_file", fmt.Sprint(i)),
			tool(at+1.5, hook.KindToolEnd, "read_file", fmt.Sprint(i)))
	}
	events = logged(append(events, ev(calls+2, hook.KindRunComplete))...)
	b.ReportAllocs()
	for b.Loop() {
		bu := build(Options{}, Carry{}, events)
		for _, r := range bu.Runs(far) {
			spansOf(bu, r, nil)
		}
	}
	b.ReportMetric(float64(len(events))*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// A copy of a run's first event may have been begun first and stored last, when the run was delivered.
func TestEarlierCopyLeavesTheID(t *testing.T) {
	first, end := turnEv(10, hook.KindPrompt, ""), turnEv(11, hook.KindRunComplete, "")
	earlier := first
	earlier.StoredAt = first.StoredAt.Add(-time.Second)
	first.Hash, earlier.Hash, end.Hash = 1, 1, 2
	before := buildTurns(Carry{}, logged(first, end)).Runs(far)
	after := buildTurns(Carry{}, logged(first, end, earlier)).Runs(far)
	if len(before) != 1 || len(after) != 1 || before[0].ID != after[0].ID || !after[0].Begun().Before(before[0].Begun()) {
		t.Errorf("the run was %v, and is with the copy %v", before, after)
	}
}
