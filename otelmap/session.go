package otelmap

import (
	"slices"
	"time"

	"github.com/hookspan/hookspan/hook"
)

// Finished reports that the session has come to its end, or has been silent for so
// long that it counts as ended. It tells of the events that Runs was last asked
// for.
func (b *Builder) Finished(now time.Time) bool {
	if b.over {
		return true
	}
	for _, it := range b.items {
		if now.Sub(it.StoredAt) <= b.opts.IdleTimeout {
			return false
		}
	}
	return true
}

// Begun is the moment of the run's first event.
func (r *Run) Begun() time.Time {
	start, _ := r.bounds()
	return start
}

// LinkTo ties the session's first run to the turn of another session that it
// goes on from. traceparent is the context that turn was started in, if any.
func (b *Builder) LinkTo(session, turn, traceparent string) {
	r := &Run{ID: turnRunID(b.host, session, turn)}
	r.context, _ = parseTraceparent(traceparent)
	sc := r.rootContext(&b.opts)
	b.carry.PrevTrace, b.carry.PrevSpan = sc.TraceID().String(), sc.SpanID().String()
	b.runs = nil
}

// ApplyRefusals takes from the host's files which ends of turns were none, because a hook
// of the user's made the agent go on, and reports whether that changes the runs.
//
// The clocks of the two do not decide: the hooks of one event run at the same
// time, so that the refusal may be written before our own hook has stored the
// end. A turn's first refusal is that of its first end, and so on.
func (b *Builder) ApplyRefusals(ends []hook.TurnEnd) bool {
	stops := make(map[string][]*item)
	began := make(map[string]time.Time)
	for _, it := range b.sorted() {
		if it.Turn == "" || it.ParentAgent != "" {
			continue
		}
		if _, known := began[it.Turn]; !known {
			began[it.Turn] = it.At()
		}
		if it.Kind == hook.KindRunComplete || blocked(it) {
			stops[it.Turn] = append(stops[it.Turn], it)
		}
	}
	changed := false
	for _, e := range ends {
		list := stops[e.Turn]
		if e.Kind != hook.KindRunResume || len(list) == 0 || e.At.Before(began[e.Turn]) {
			continue
		}
		stop := list[0]
		stops[e.Turn] = list[1:]
		if blocked(stop) {
			continue
		}
		stop.Kind, stop.Message = hook.KindNote, stop.Result
		stop.Attrs = append(slices.Clone(stop.Attrs), hook.Attr{Key: KeyStopBlocked, Value: true})
		changed = true
	}
	if changed {
		b.runs = nil
	}
	return changed
}

// blocked reports that the event was an end that a hook of the user's refused.
func blocked(it *item) bool {
	return slices.Contains(it.Attrs, hook.Attr{Key: KeyStopBlocked, Value: true})
}

// fact returns the value of a fact that is a string.
func (it *item) fact(key string) string {
	for _, a := range it.Attrs {
		if s, ok := a.Value.(string); ok && a.Key == key {
			return s
		}
	}
	return ""
}
