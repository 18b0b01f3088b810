package otelmap

import (
	"cmp"
	"iter"
	"slices"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
)

// The records of the user's hooks are not events of the host and do not start or
// end runs. Each belongs to the event that it is about, wherever it is in the
// log. A record without its event is ignored.

// addHooks keeps a record of the user's hooks.
func (b *Builder) addHooks(e hook.Event) {
	if len(e.HookRuns) == 0 && !e.Answer.Denies() {
		return
	}
	b.runs = nil
	o := &b.opts
	e.HookRuns = slices.Clone(e.HookRuns)
	for i := range e.HookRuns {
		r := &e.HookRuns[i]
		r.Matcher = o.text(r.Matcher, o.MaxInput)
		r.Command = o.text(r.Command, o.MaxInput)
		r.Reason = o.text(r.Reason, o.MaxOutput)
	}
	answer := *cmp.Or(e.Answer, &hook.HookAnswer{})
	answer.By, answer.Reason = o.text(answer.By, o.MaxInput), o.text(answer.Reason, o.MaxOutput)
	e.Answer = &answer
	b.hooks[e.About] = append(b.hooks[e.About], &e)
}

// matchHooks finds the event that each record is about. If an event has several
// records, as when two hook files of the agent have both run the user's hooks,
// the first by precedes counts.
func (b *Builder) matchHooks() map[*item]*hook.Event {
	events := make(map[uint64][]*item)
	for _, it := range b.items {
		if len(b.hooks[it.Hash]) > 0 {
			events[it.Hash] = append(events[it.Hash], it)
		}
	}
	ran := make(map[*item]*hook.Event)
	for about, list := range b.hooks {
		for _, rec := range list {
			it := hookedEvent(events[about], rec)
			if have := ran[it]; it != nil && (have == nil || precedes(rec, have)) {
				ran[it] = rec
			}
		}
	}
	return ran
}

// hookedEvent returns the event that a record is about, of those with its hash.
// There are several only if the host gives no times: then it is the newest that
// was stored when the hooks began.
func hookedEvent(events []*item, rec *hook.Event) *item {
	began := hooksBegan(rec)
	var best *item
	for _, it := range events {
		if best == nil || best.StoredAt().After(began) && it.stored < best.stored ||
			!best.StoredAt().After(began) && it.stored > best.stored && !it.StoredAt().After(began) {
			best = it
		}
	}
	return best
}

// precedes orders the records of one event: those that denied first, for the
// host obeys them in any order, then by time.
func precedes(x, y *hook.Event) bool {
	if xd, yd := x.Answer.Denies(), y.Answer.Denies(); xd != yd {
		return xd
	}
	return cmp.Or(hooksBegan(x).Compare(hooksBegan(y)), cmp.Compare(x.Hash, y.Hash)) < 0
}

// hooksBegan returns when the first hook started, else when the record was
// stored.
func hooksBegan(rec *hook.Event) time.Time {
	var first time.Time
	for _, r := range rec.HookRuns {
		if at := r.Started; !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	if first.IsZero() {
		return rec.StoredAt
	}
	return first
}

// hooksEnded returns the end of the last hook that the host waited for, zero if
// there is none.
func hooksEnded(rec *hook.Event) time.Time {
	var last time.Time
	for _, r := range rec.HookRuns {
		if !r.Started.IsZero() && r.Status != hook.HookAsync {
			last = latest(last, r.Started.Add(r.Duration))
		}
	}
	return last
}

// hooked yields the run's events for which the user's hooks ran, with the
// records.
func (b *Builder) hooked(r *Run) iter.Seq2[*item, *hook.Event] {
	return func(yield func(*item, *hook.Event) bool) {
		if len(b.ran) == 0 {
			return
		}
		for _, it := range r.every() {
			if rec := b.ran[it]; rec != nil && !yield(it, rec) {
				return
			}
		}
	}
}

// stoppedBy returns the command of the hook that first asked the host to stop.
func (j *joined) stoppedBy() string {
	var first *hook.Event
	for _, rec := range j.hooked(j.run) {
		if rec.Answer.Cancelled && (first == nil || precedes(rec, first)) {
			first = rec
		}
	}
	if first == nil {
		return ""
	}
	return first.Answer.By
}

// rootHooks returns the user's hooks for events that belong to no tool call.
func (j *joined) rootHooks() []*tracepb.Span_Event {
	var out []*tracepb.Span_Event
	for it := range j.hooked(j.run) {
		if it.Kind != hook.KindToolStart && it.Kind != hook.KindToolEnd {
			out = append(out, j.hookEvents(it)...)
		}
	}
	return out
}

// callHooks returns the user's hooks for a tool call, in the order of time.
func (j *joined) callHooks(c *call) []*tracepb.Span_Event {
	out := append(j.hookEvents(c.pre), j.hookEvents(c.post)...)
	sortEvents(out)
	return out
}

// hookEvents returns the user's hooks for one event.
func (j *joined) hookEvents(it *item) []*tracepb.Span_Event {
	rec := j.ran[it]
	if rec == nil {
		return nil
	}
	out := make([]*tracepb.Span_Event, 0, len(rec.HookRuns))
	for _, r := range rec.HookRuns {
		a := texts(
			KeyHookEvent, r.Event,
			KeyHookTool, r.Tool,
			KeyHookMatcher, r.Matcher,
			KeyHookCommand, r.Command,
			KeyHookSource, r.Source,
			KeyHookStatus, r.Status,
		)
		if r.Exit >= 0 {
			a.num(KeyHookExitCode, int64(r.Exit))
		}
		if r.Status != hook.HookAsync && r.Status != hook.HookNotStarted {
			a.num(KeyHookDuration, r.Duration.Milliseconds())
		}
		a.texts(KeyHookDecision, r.Decision, KeyHookReason, r.Reason)
		at := r.Started
		if at.IsZero() {
			at = latest(it.At(), it.StoredAt())
		}
		out = append(out, spanEvent(EventHook, at, a))
	}
	return out
}

// denial returns the record of the hooks that denied a call, or nil. A call that
// succeeded all the same was not denied: the host ignored the answer or read it
// too late, and the trace must show that. Most hosts never report the end of a denied call,
// because they stop the run.
func (j *joined) denial(c *call) *hook.Event {
	if c.pre == nil || c.post != nil && !c.post.end.Status.Failed() {
		return nil
	}
	if rec := j.ran[c.pre]; rec != nil && rec.Answer.Denies() {
		return rec
	}
	return nil
}

// deniedBy is the description of a call that a hook denied, by its command and reason, each
// maybe "".
func deniedBy(by, reason string) string {
	message := "denied by " + cmp.Or(by, "a hook")
	if reason != "" {
		message += ": " + reason
	}
	return message
}
