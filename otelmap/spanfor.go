package otelmap

import (
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/hookspan/hookspan/hook"
)

// SpanFor returns the span that an added event will belong to, which is the
// call's span for an event of a tool call and else the run's root span, and that
// root span. It is for programs that add spans below it while the run is still
// open.
//
// Later events do not change the answer if the log is in the host's order, the
// run's first event has the context that the run was started in, and no later event
// names its turn. ok is false if
// the event was not added, belongs to no run, or the run's beginning is not known.
func (b *Builder) SpanFor(about *hook.Event) (sc, root trace.SpanContext, ok bool) {
	it := b.find(about)
	if it == nil {
		return sc, root, false
	}
	runs := b.Runs(it.StoredAt())
	for i, r := range slices.Backward(runs) {
		agent, items, found := r.holder(it)
		if !found {
			continue
		}
		if b.partial && !beginningKnown(runs[:i+1]) {
			return sc, root, false
		}
		root = r.rootContext(&b.opts)
		if key := b.callKey(items, it, agent); key != "" {
			return root.WithSpanID(r.ID.spanID("tool", key)), root, true
		}
		return root, root, true
	}
	return sc, root, false
}

// find returns the event as the builder keeps it, or nil.
func (b *Builder) find(e *hook.Event) *item {
	if e.Key != "" {
		return b.seen[b.keyIdentity(e.Key)]
	}
	for _, it := range slices.Backward(b.items) {
		if it.Hash == e.Hash && it.Name == e.Name {
			return it
		}
	}
	return nil
}

// holder returns the agent of the run that has the event, and its events.
func (r *Run) holder(it *item) (agent string, items []*item, ok bool) {
	for id, a := range r.agents {
		if slices.Contains(a.items, it) {
			return id, a.items, true
		}
	}
	return "", r.items, slices.Contains(r.every(), it)
}

// callKey returns the key of the tool call that the event is about, "" if it is
// about none.
func (b *Builder) callKey(items []*item, it *item, agent string) string {
	if it.Tool == nil {
		return ""
	}
	seen := make(map[string]int)
	calls := pair(items, make(map[*item]*item))
	if b.opts.Agent.Unnamed {
		calls = joinRewritten(calls)
	}
	for _, c := range calls {
		key := c.identify(agent, seen)
		if c.pre == it || c.post == it || c.echo == it || c.asked == it {
			return key
		}
	}
	return ""
}

// beginningKnown reports that the last of the runs certainly began with its first
// event, although the events before the first run are not known. After a reported
// end, any event begins a run. Otherwise only an opening event does, and it may
// join a run that was opened just before, so that another event must come first.
// A turn may have been split, and agents may have worked for a run before all of
// these, so that nothing is certain with either.
func beginningKnown(runs []*Run) bool {
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
