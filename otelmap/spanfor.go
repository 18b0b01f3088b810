package otelmap

import (
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/hookspan/hookspan/hook"
)

// SpanFor returns the span that will tell of an event that was added: of an event of
// a tool call the call's span, of any other the run's root span; and that root
// span. It is for programs that want their own spans below it while the run is
// still open.
//
// What is added later does not change the answer as long as the log is in the
// host's order and the run's first event says in what context the run was
// started. ok is false where the event was not added, belongs to no run, or the
// run's beginning is not known.
func (b *Builder) SpanFor(about *hook.Event) (sc, root trace.SpanContext, ok bool) {
	it := b.find(about)
	if it == nil {
		return sc, root, false
	}
	runs := b.Runs(it.StoredAt)
	for i := len(runs) - 1; i >= 0; i-- {
		r := runs[i]
		agent, items, found := r.holder(it)
		if !found {
			continue
		}
		if b.partial && !begins(runs[:i+1]) {
			return sc, root, false
		}
		root = r.rootContext(&b.opts)
		if c := callOf(items, it, agent); c != nil {
			return root.WithSpanID(r.ID.spanID("tool", c.key)), root, true
		}
		return root, root, true
	}
	return sc, root, false
}

// Traceparent writes a span's context as a W3C traceparent header.
func Traceparent(sc trace.SpanContext) string {
	return "00-" + sc.TraceID().String() + "-" + sc.SpanID().String() + "-" + sc.TraceFlags().String()
}

// find is the event as the builder keeps it.
func (b *Builder) find(e *hook.Event) *item {
	if e.Key != "" {
		return b.seen[identity{key: e.Key}]
	}
	for i := len(b.items) - 1; i >= 0; i-- {
		if it := b.items[i]; it.Hash == e.Hash && it.Name == e.Name {
			return it
		}
	}
	return nil
}

// holder finds the events of the agent of the run that an event stands among.
func (r *Run) holder(it *item) (agent string, items []*item, ok bool) {
	for id, a := range r.agents {
		if slices.Contains(a.items, it) {
			return id, a.items, true
		}
	}
	return "", r.items, slices.Contains(r.every(), it)
}

// callOf is the tool call that the event is about, nil if it is about none.
func callOf(items []*item, it *item, agent string) *call {
	if it.Tool == nil {
		return nil
	}
	seen := make(map[string]int)
	for _, c := range match(items) {
		c.identify(agent, seen)
		if c.pre == it || c.post == it || c.asked == it {
			return c
		}
	}
	return nil
}

// begins reports that the last of the runs surely began where it seems to,
// although what stands before the first event is not known. After an end that was
// told, whatever comes begins a run. Otherwise only an event does that opens one,
// and it may join one that was opened just before, so that something else of the
// session must come first. A turn may have been split. Agents may work for a run
// before all of these, so that nothing can be said where there are any.
func begins(runs []*Run) bool {
	last, before := runs[len(runs)-1], runs[:len(runs)-1]
	if last.turn != "" || slices.ContainsFunc(runs, func(r *Run) bool { return len(r.agents) > 0 }) {
		return false
	}
	if n := len(before); n > 0 && before[n-1].terminal != nil {
		return true
	}
	return last.from.opens() && slices.ContainsFunc(before, func(r *Run) bool {
		return r.terminal != nil || slices.ContainsFunc(r.items, func(it *item) bool { return !it.opens() })
	})
}
