package otelmap

import (
	"cmp"
	"slices"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
)

// The records of the user's own hooks are no events of the host. They take no
// part in making runs: each belongs to the event that it is about, wherever the
// log has it, and one whose event is not there means nothing.

// addHooks keeps a record of the user's hooks.
func (b *Builder) addHooks(e hook.Event) {
	if len(e.HookRuns) == 0 && !e.Answer.Denies() {
		return
	}
	b.runs = nil
	o := &b.opts
	runs := slices.Clone(e.HookRuns)
	for i := range runs {
		r := &runs[i]
		r.Matcher = o.text(r.Matcher, o.MaxInput)
		r.Command = o.text(r.Command, o.MaxInput)
		r.Reason = o.text(r.Reason, o.MaxOutput)
	}
	e.HookRuns = runs
	var answer hook.HookAnswer
	if e.Answer != nil {
		answer = *e.Answer
	}
	answer.By, answer.Reason = o.text(answer.By, o.MaxInput), o.text(answer.Reason, o.MaxOutput)
	e.Answer = &answer
	if b.hooks == nil {
		b.hooks = make(map[uint64][]*hook.Event)
	}
	b.hooks[e.About] = append(b.hooks[e.About], &e)
}

// matchHooks finds the event that each record is about. Of several records of
// one event, as when two hook files of the agent have both run the user's hooks,
// one counts.
func (b *Builder) matchHooks() map[*item]*hook.Event {
	if len(b.hooks) == 0 {
		return nil
	}
	events := make(map[uint64][]*item)
	for _, it := range b.items {
		if len(b.hooks[it.Hash]) > 0 {
			events[it.Hash] = append(events[it.Hash], it)
		}
	}
	ran := make(map[*item]*hook.Event)
	for about, list := range b.hooks {
		for _, rec := range list {
			it := ranFor(events[about], rec)
			if have := ran[it]; it != nil && (have == nil || before(rec, have)) {
				ran[it] = rec
			}
		}
	}
	return ran
}

// ranFor is the event that a record is about, among those with its hash. Only
// events without a time of the host's can be several: then it is the newest that
// was stored when the hooks began.
func ranFor(events []*item, rec *hook.Event) *item {
	began := hooksBegan(rec)
	var best *item
	for _, it := range events {
		switch {
		case best == nil:
			best = it
		case best.StoredAt.After(began):
			if it.StoredAt.Before(best.StoredAt) {
				best = it
			}
		case it.StoredAt.After(best.StoredAt) && !it.StoredAt.After(began):
			best = it
		}
	}
	return best
}

// before is the order in which records of one event count: one that denied
// before one that did not, for the host heeds it whichever came first, then the
// first.
func before(x, y *hook.Event) bool {
	if xd, yd := x.Answer.Denies(), y.Answer.Denies(); xd != yd {
		return xd
	}
	if c := hooksBegan(x).Compare(hooksBegan(y)); c != 0 {
		return c < 0
	}
	return x.Hash < y.Hash
}

// hooksBegan is the beginning of the first run, else when it was recorded.
func hooksBegan(rec *hook.Event) time.Time {
	var first time.Time
	for i := range rec.HookRuns {
		if at := rec.HookRuns[i].Started; !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	if first.IsZero() {
		return rec.StoredAt
	}
	return first
}

// hooksEnded is the end of the last run that was waited for, zero if there is
// none.
func hooksEnded(rec *hook.Event) time.Time {
	var last time.Time
	for i := range rec.HookRuns {
		if r := &rec.HookRuns[i]; !r.Started.IsZero() && r.Status != hook.HookAsync {
			last = latest(last, r.Started.Add(r.Duration))
		}
	}
	return last
}

// touchHooks lets a run be still only when its hooks are. Its offsets stay: a
// record comes after its event, and one that is read again without it means
// nothing.
func (b *Builder) touchHooks(r *Run) {
	if len(b.ran) == 0 {
		return
	}
	for it := range r.every {
		if rec := b.ran[it]; rec != nil {
			r.EndedAt = latest(r.EndedAt, rec.StoredAt)
		}
	}
}

// every gives each of the run's events once, those that change nothing
// included.
func (r *Run) every(yield func(*item) bool) {
	seen := make(map[*item]bool)
	give := func(items ...*item) bool {
		for _, it := range items {
			if it == nil || seen[it] {
				continue
			}
			seen[it] = true
			if !yield(it) {
				return false
			}
		}
		return true
	}
	if !give(r.items...) || !give(r.late...) || !give(r.stopped, r.terminal) {
		return
	}
	for _, a := range r.sortedAgents() {
		if !give(a.items...) {
			return
		}
	}
}

// hooksEnd is when the last of the run's hooks ended, zero if there were none.
func (m *mapping) hooksEnd() time.Time {
	var last time.Time
	if len(m.ran) == 0 {
		return last
	}
	for it := range m.run.every {
		if rec := m.ran[it]; rec != nil {
			last = latest(last, hooksEnded(rec))
		}
	}
	return last
}

// rootHooks are the runs for events that are no end of a tool call.
func (m *mapping) rootHooks() []*tracepb.Span_Event {
	if len(m.ran) == 0 {
		return nil
	}
	var out []*tracepb.Span_Event
	for it := range m.run.every {
		if it.Kind != hook.KindToolStart && it.Kind != hook.KindToolEnd {
			out = append(out, m.hookEvents(it)...)
		}
	}
	return out
}

// stoppedBy is the command of the hook that first asked the host to stop.
func (m *mapping) stoppedBy() string {
	var first *hook.Event
	if len(m.ran) == 0 {
		return ""
	}
	for it := range m.run.every {
		rec := m.ran[it]
		if rec != nil && rec.Answer.Cancelled && (first == nil || before(rec, first)) {
			first = rec
		}
	}
	if first == nil {
		return ""
	}
	return first.Answer.By
}

// callHooks are the runs for a tool call, in the order of time.
func (m *mapping) callHooks(c *call) []*tracepb.Span_Event {
	if len(m.ran) == 0 {
		return nil
	}
	out := append(m.hookEvents(c.pre), m.hookEvents(c.post)...)
	sortEvents(out)
	return out
}

// hookEvents are the runs for one event.
func (m *mapping) hookEvents(it *item) []*tracepb.Span_Event {
	rec := m.ran[it]
	if rec == nil {
		return nil
	}
	out := make([]*tracepb.Span_Event, 0, len(rec.HookRuns))
	for i := range rec.HookRuns {
		r := &rec.HookRuns[i]
		var a attrs
		a.str(KeyHookEvent, r.Event)
		a.str(KeyHookTool, r.Tool)
		a.str(KeyHookMatcher, r.Matcher)
		a.str(KeyHookCommand, r.Command)
		a.str(KeyHookSource, r.Source)
		a.str(KeyHookStatus, r.Status)
		if r.Exit >= 0 {
			a.num(KeyHookExitCode, int64(r.Exit))
		}
		if r.Status != hook.HookAsync && r.Status != hook.HookNotStarted {
			a.num(KeyHookDuration, r.Duration.Milliseconds())
		}
		a.str(KeyHookDecision, r.Decision)
		a.str(KeyHookReason, r.Reason)
		at := r.Started
		if at.IsZero() {
			at = latest(it.At(), it.StoredAt)
		}
		out = append(out, &tracepb.Span_Event{Name: EventHook, TimeUnixNano: otlp.UnixNano(at), Attributes: a})
	}
	return out
}

// denial is the record of the hooks that denied a call. A call that went well in
// spite of them was not denied: the host did not heed the answer, or came too
// late to read it, and that must show.
func (m *mapping) denial(c *call) *hook.Event {
	if c.pre == nil || c.post != nil && !c.post.Tool.Status.Failed() {
		return nil
	}
	if rec := m.ran[c.pre]; rec != nil && rec.Answer.Denies() {
		return rec
	}
	return nil
}

// deniedCall is the outcome of a call that the user's hooks denied. Most hosts
// never report its end, for they stop the run.
func (m *mapping) deniedCall(c *call, rec *hook.Event) toolOutcome {
	out := toolOutcome{failure: ErrorToolDenied, denied: rec}
	out.message = "denied by " + cmp.Or(rec.Answer.By, "a hook")
	if rec.Answer.Reason != "" {
		out.message += ": " + rec.Answer.Reason
	}
	if c.post != nil {
		out.result = c.post.Tool.Output
		return out
	}
	c.end = latest(c.start, hooksEnded(rec))
	return out
}

// hookFacts adds what the user's hooks did to a call.
func (m *mapping) hookFacts(a *attrs, c *call, denied *hook.Event) {
	if denied != nil {
		a.str(KeyHookDeniedBy, denied.Answer.By)
	}
	if c.pre == nil {
		return
	}
	if rec := m.ran[c.pre]; rec != nil && denied == nil && rec.Answer.InputChanged {
		*a = append(*a, otlp.Bool(KeyHookInputChanged, true))
	}
}
