package otelmap

import (
	"cmp"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/hookspan/hookspan/hook"
)

// Run is one trace: what the agent did between a prompt and its answer.
type Run struct {
	ID RunID
	// Ended reports that no more events are expected: the run's end was reported
	// and its agents have stopped, or it has been idle for too long.
	Ended bool
	// Repeated reports that the run ended before the place where reading began:
	// its events were reported again.
	Repeated bool
	// EndedAt is when the last of its events was stored. If the clock was set back
	// meanwhile, those that were stored after that count.
	EndedAt time.Time
	// Outcome is one of the Outcome constants. Of an open run it is the outcome
	// without further events.
	Outcome string
	// First and Last are the offsets of the run's first and last event.
	First, Last int64

	items []*item
	// epoch is that of EndedAt.
	epoch int32
	// context is the context that the run was started in, by the first event that
	// has one.
	context  trace.SpanContext
	terminal *item
	late     []*item // events after the terminal that change nothing
	from     *item   // the opening event
	first    *item   // the first one in the log
	next     *Run    // the run after this one
	before   *Run    // the run before this one
	part     *Run    // the next part of this run's turn
	earlier  *Run    // the part before this one, nil if it is not among the events
	beside   *Run    // the run that stayed open when this one began
	prev     Carry   // the carry before this run, without lists
	agents   map[string]*agent

	// turn is the host's identity of the run if the host numbers its turns.
	turn string
	// whole is the ID of the first part of the run's turn.
	whole RunID
	// later reports that an earlier part of the turn is a separate run, and resumes is that
	// one's end if it is before the place where reading began. continued reports that the run is
	// no copy of that one's prompt.
	later, continued bool
	resumes          time.Time
	// stopped is an end after which the turn continued.
	stopped *item
	// failing is the failure of a request after which nothing came yet: the end, if
	// nothing does.
	failing *item
	// source is how the session began just before the run, and model what its
	// start named.
	source, model string
	// lastModel is the model that the session's newest start named when the run
	// ended.
	lastModel string
	// silent reports that the run was closed after the idle timeout.
	silent bool
	// processes is how many processes worked on the session before the run.
	processes int
	// newest is the time of the newest event, subagents' included.
	newest instant
}

// agent is a subagent of a run.
type agent struct {
	id, parent, kind string
	items            []*item
	ended            *item
	// gone is when it stopped without reporting an end, never if it did not; stopped
	// reports that it was stopped.
	gone    instant
	stopped bool
}

// Begun returns the time of the run's first event.
func (r *Run) Begun() time.Time {
	start, _ := r.bounds()
	return start
}

// Whole returns the ID of the first part of the run's turn.
func (r *Run) Whole() RunID { return r.whole }

// parent returns the context the run was started in, if any.
func (r *Run) parent(o *Options) (trace.SpanContext, bool) {
	if r.context.IsValid() {
		return r.context, true
	}
	return parseTraceparent(o.Traceparent)
}

func (r *Run) rootContext(o *Options) trace.SpanContext {
	tid := trace.TraceID(r.ID)
	if p, ok := r.parent(o); ok {
		tid = p.TraceID()
	}
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: tid, SpanID: r.ID.spanID("root", ""), TraceFlags: trace.FlagsSampled,
	})
}

// bounds returns the run's first and last moment.
func (r *Run) bounds() (start, end time.Time) {
	start = r.from.At()
	for _, a := range r.agents {
		if at := a.items[0].At(); at.Before(start) {
			start = at
		}
	}
	end = latest(start, r.lastAt())
	if r.terminal != nil {
		end = latest(r.terminal.At(), end)
	}
	return start, end
}

// lastAt returns the host's time of the newest event, subagents' included.
func (r *Run) lastAt() time.Time { return r.newest.Time() }

// working reports that one of the run's agents has not stopped.
func (r *Run) working() bool {
	for _, a := range r.agents {
		if a.end() == never {
			return true
		}
	}
	return false
}

// sleep closes a run for its silence, with the agents that were at work.
func (r *Run) sleep(timeout time.Duration) {
	r.silent = r.silent || r.terminal == nil || r.working()
	for _, a := range r.agents {
		a.stop(instantOf(r.EndedAt.Add(timeout)))
	}
}

// Complete reports that the run's end was reported and, for each tool call and
// subagent, both ends were. A cancellation may yet be replaced by a completion.
func (r *Run) Complete() bool {
	if r.terminal == nil || r.Outcome != OutcomeCompleted && r.Outcome != OutcomeFailed || r.working() {
		return false
	}
	unfinished := func(items []*item) bool {
		var open hook.OpenCalls[*item]
		for _, it := range items {
			switch {
			case it.Tool == nil:
			case it.Kind == hook.KindToolStart:
				open.Start(keyOf(it), it)
			case it.Kind == hook.KindToolEnd:
				open.End(keyOf(it))
			}
		}
		return open.Any()
	}
	for _, a := range r.agents {
		if unfinished(a.items) {
			return false
		}
	}
	return !unfinished(r.items)
}

// Lacks reports whether t is missing the end of one of the run's subagents for which a
// hook has already reported the end. The subagent's last request may be missing too.
func (r *Run) Lacks(t *hook.Transcript) bool {
	return slices.ContainsFunc(t.Agents, func(f hook.Subagent) bool {
		a := r.agents[f.ID]
		return a != nil && a.ended != nil && f.End.IsZero()
	})
}

// superseded reports that another run began before the end of this one was
// reported.
func (r *Run) superseded() bool { return r.terminal == nil && r.Outcome != "" }

// opening reports that the run has only its beginning, so that another opening
// event, such as a resume after a start, belongs to it.
func (r *Run) opening(it *item) bool {
	// A start may come after an event of the same instant. A separate run would
	// have the same identity, and its spans would replace this one's.
	if len(r.items) > 0 && !r.items[0].opens() && r.items[0].At().Equal(it.At()) && r.lastAt().Equal(it.At()) {
		return true
	}
	return len(r.items) == 1 && r.items[0].opens() && it.At().Sub(r.items[0].At()) <= openingGrace
}

// settle gives a run that continued after an end, and then fell silent, that end.
func (r *Run) settle() {
	if r.terminal == nil && r.failing != nil {
		r.terminal, r.failing, r.Outcome = r.failing, nil, OutcomeFailed
	}
	if r.terminal == nil && r.stopped != nil {
		r.terminal, r.stopped = r.stopped, nil
		r.Outcome = OutcomeCompleted
		if r.terminal.Kind == hook.KindRunError {
			r.Outcome = OutcomeFailed
		}
	}
}

// Failing reports that the last event of the open run is the failure of a request,
// which the agent may send again. The host's files say whether the run has failed.
func (r *Run) Failing() bool { return r.failing != nil }

// retried notes that the run goes on after the failure of a request.
func (r *Run) retried() {
	if r.failing != nil {
		r.items = append(r.items, r.failing)
		r.failing = nil
	}
}

// StoppedAt is when the run's end was stored, which EndedAt may be long after: what is stored
// behind the end belongs to the run, too. It is EndedAt if no event is the end.
func (r *Run) StoppedAt() time.Time {
	if r.terminal == nil {
		return r.EndedAt
	}
	return r.terminal.StoredAt()
}

// logged notes one of the run's events.
func (r *Run) logged(it *item) {
	if r.first == nil || it.Offset < r.first.Offset {
		r.first = it
	}
}

// touch makes the run include an event's place in the log.
func (r *Run) touch(it *item) {
	if at := it.StoredAt(); it.epoch > r.epoch || it.epoch == r.epoch && at.After(r.EndedAt) {
		r.EndedAt, r.epoch = at, it.epoch
	}
	r.First = min(r.First, it.Offset)
	r.Last = max(r.Last, it.last)
}

// asked returns the time of the user's prompt that the run begins with, zero if
// no hook reported one before the agent's first work.
func (r *Run) asked() time.Time {
	for _, it := range r.items {
		switch {
		case it.Kind == hook.KindPrompt && !it.injected():
			return it.At()
		case it.Kind == hook.KindPrompt, it.Tool != nil:
			return time.Time{}
		}
	}
	return time.Time{}
}

// Offsets yields the offsets of the run's events, with those that change nothing.
func (r *Run) Offsets(yield func(int64) bool) {
	for _, it := range r.every() {
		if !yield(it.Offset) {
			return
		}
	}
}

// Since reports whether one of the run's events is at or behind an offset.
func (r *Run) Since(offset int64) bool {
	for at := range r.Offsets {
		if at >= offset {
			return true
		}
	}
	return false
}

// firstOf returns the first non-empty value of get over the run's events.
func (r *Run) firstOf(get func(*item) string) string {
	for it := range r.all {
		if v := get(it); v != "" {
			return v
		}
	}
	return ""
}

// all yields the run's events, the lead's first, then each subagent's.
func (r *Run) all(yield func(*item) bool) {
	for _, it := range r.items {
		if !yield(it) {
			return
		}
	}
	if r.terminal != nil && !yield(r.terminal) {
		return
	}
	for _, a := range r.sortedAgents() {
		for _, it := range a.items {
			if !yield(it) {
				return
			}
		}
	}
}

// every returns each of the run's events once, with those that change nothing.
func (r *Run) every() []*item {
	out := slices.Concat(r.items, r.late, []*item{r.stopped, r.terminal})
	for _, a := range r.sortedAgents() {
		out = append(out, a.items...)
	}
	seen := map[*item]bool{nil: true}
	return slices.DeleteFunc(out, func(it *item) bool {
		known := seen[it]
		seen[it] = true
		return known
	})
}

// sortedAgents returns the run's subagents in the order in which they began.
func (r *Run) sortedAgents() []*agent {
	out := make([]*agent, 0, len(r.agents))
	for _, a := range r.agents {
		out = append(out, a)
	}
	slices.SortFunc(out, func(x, y *agent) int {
		return cmp.Or(x.items[0].At().Compare(y.items[0].At()), cmp.Compare(x.id, y.id))
	})
	return out
}
