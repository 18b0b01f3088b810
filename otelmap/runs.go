package otelmap

import (
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// Carry is what must be known of a session before the point where a log is
// read from. The zero value is the session's beginning.
type Carry struct {
	// PrevTrace and PrevSpan are the last run's root, in hex, to link to.
	PrevTrace string `json:"prev_trace,omitempty"`
	PrevSpan  string `json:"prev_span,omitempty"`
	// PrevEnd is that run's end, up to which requests to the model are counted;
	// zero for a run that did not tell its end.
	PrevEnd time.Time `json:"prev_end,omitzero"`
	// Stored is when the newest of the events so far was stored: what was stored
	// long before it comes after the clock was set back.
	Stored time.Time `json:"stored,omitzero"`
	// Runs counts the runs so far.
	Runs int `json:"runs,omitempty"`
	// Agents are the newest subagents of those runs: their requests to the
	// model were counted there, even those made while a later run was open.
	Agents []string `json:"agents,omitempty"`
	// Recent are the newest of those runs: when their events come again, there
	// is nothing new in them.
	Recent []string `json:"recent,omitempty"`
	// Silent are those of Recent that were given up because nothing came of
	// them: what comes of their turns later is news.
	Silent []string `json:"silent,omitempty"`
	// Task is a preview of the session's first prompt that a hook reported, on
	// hosts without turns: it names a run that begins without one.
	Task string `json:"task,omitempty"`
	// Source and Model are what the newest start of the session said; Source
	// stays until a run has taken it.
	Source string `json:"source,omitempty"`
	Model  string `json:"model,omitempty"`
}

// carried bounds Carry.Agents and Carry.Recent.
const carried = 64

// Run is one trace: what the agent did between being asked and answering.
type Run struct {
	ID RunID
	// Ended reports that nothing more can come: the run's end was reported and
	// its agents have stopped, or it has been idle for too long.
	Ended bool
	// Repeated reports that the run ended before the place where reading began:
	// its events have come again.
	Repeated bool
	// EndedAt is when the last of its events was stored.
	EndedAt time.Time
	// Outcome is one of the Outcome constants; of an open run, what it would be
	// if nothing more came.
	Outcome string
	// First and Last are the offsets of the run's first and last event.
	First, Last int64

	items []*item
	// context is the context that the run was started in, if any event said so.
	context  trace.SpanContext
	terminal *item
	late     []*item // events after the terminal that change nothing
	from     *item   // the opening event
	next     *Run    // the run after this one, if it has begun
	beside   *Run    // the run that stayed open when this one began
	prev     Carry   // the carry before this run
	agents   map[string]*agent

	// turn is the host's identity of the run, of hosts that number their turns.
	turn string
	// stopped is an end after which the turn went on.
	stopped *item
	// source is how the session began just before the run, and model what its
	// start named.
	source, model string
	// lastModel is what the newest start of the session named by the run's end.
	lastModel string
	// silent reports that the run was closed because nothing came of it.
	silent bool
}

// agent is a subagent of a run.
type agent struct {
	id, parent, kind string
	items            []*item
	ended            *item
	// gone reports that it ended without saying so.
	gone bool
}

// working reports that one of the run's agents has not stopped.
func (r *Run) working() bool {
	for _, a := range r.agents {
		if a.ended == nil && !a.gone {
			return true
		}
	}
	return false
}

// Runs gives the session's runs in order. now decides which open runs have been
// idle for too long.
func (b *Builder) Runs(now time.Time) []*Run {
	s := &segments{b: b, carry: b.carry, subRuns: make(map[string]*Run)}
	var seg segmenter = taskSegmenter{s}
	if b.turns() {
		seg = &turnSegmenter{segments: s, turns: make(map[string]*Run)}
	}
	for _, it := range b.sorted() {
		seg.add(it)
	}
	b.ran = b.matchHooks()
	for _, r := range s.runs {
		b.touchHooks(r)
		idle := now.Sub(r.EndedAt) > b.opts.IdleTimeout
		if idle || r.superseded() {
			r.settle()
		}
		if r.terminal == nil && idle && r.Outcome == "" {
			r.Outcome, r.silent = b.silence(), true
		}
		r.Repeated = slices.Contains(b.carry.Recent, r.ID.String())
		r.Ended = (r.terminal != nil || r.superseded()) && !r.working() || idle
	}
	b.runs, b.after, b.over = s.runs, s.carry, s.over
	return s.runs
}

// silence is the outcome of a run that fell silent.
func (b *Builder) silence() string {
	if b.turns() {
		return OutcomeInterrupted
	}
	return OutcomeAbandoned
}

// superseded reports that another run began before this one's end was told.
func (r *Run) superseded() bool { return r.terminal == nil && r.Outcome != "" }

func (r *Run) touch(it *item) {
	if it.StoredAt.After(r.EndedAt) {
		r.EndedAt = it.StoredAt
	}
	r.First = min(r.First, it.Offset)
	r.Last = max(r.Last, it.last)
}

// lastAt is the host's time of the newest event, subagents' included.
func (r *Run) lastAt() time.Time {
	t := r.from.At()
	if n := len(r.items); n > 0 && r.items[n-1].At().After(t) {
		t = r.items[n-1].At()
	}
	for _, a := range r.agents {
		if at := a.items[len(a.items)-1].At(); at.After(t) {
			t = at
		}
	}
	return t
}

// Boundary returns the offset from which a later reader may start and the
// carry it then needs: the end of the longest prefix of runs that are done, as
// far as no event of another run stands before it. size is the offset behind
// the last event that was added.
func (b *Builder) Boundary(done func(RunID) bool, size int64) (int64, Carry) {
	var keep int64 = -1
	n := 0
	for n < len(b.runs) && b.runs[n].Ended && (b.runs[n].Repeated || done(b.runs[n].ID)) {
		n++
	}
	rest := b.runs[n:]
	if len(rest) == 0 {
		carry := b.carry
		if n > 0 {
			carry = b.runs[n-1].after(&b.opts)
		}
		carry.Source, carry.Model = b.after.Source, b.after.Model
		return size, carry
	}
	for _, r := range rest {
		if keep < 0 || r.First < keep {
			keep = r.First
		}
	}
	// Runs overlap in the log when a background agent outlives its run: then a
	// done run's events stand behind the place where reading must start, and it
	// has to be read whole again.
	for n > 0 && slices.ContainsFunc(b.runs[:n], func(r *Run) bool {
		return r.Last >= keep || slices.ContainsFunc(b.runs[n:], func(later *Run) bool { return later.beside == r })
	}) {
		n--
		keep = min(keep, b.runs[n].First)
	}
	if n == 0 {
		first := b.runs[0]
		return min(keep, first.First), b.carry
	}
	return keep, b.runs[n-1].after(&b.opts)
}

// after is the carry behind a run.
func (r *Run) after(o *Options) Carry {
	sc := r.rootContext(o)
	c := Carry{
		PrevTrace: sc.TraceID().String(), PrevSpan: sc.SpanID().String(),
		Runs: r.prev.Runs + 1,
	}
	if r.terminal != nil {
		c.PrevEnd = r.terminal.At()
	}
	if c.Stored = r.prev.Stored; r.EndedAt.After(c.Stored) {
		c.Stored = r.EndedAt
	}
	c.Model = r.lastModel
	if c.Task = r.prev.Task; c.Task == "" && r.turn == "" {
		c.Task = cut(r.firstOf(func(it *item) string {
			if it.injected() || it.ParentAgent != "" {
				return ""
			}
			return it.Prompt
		}), o.MaxInput)
	}
	c.Agents = slices.Clone(r.prev.Agents)
	for _, a := range r.sortedAgents() {
		c.Agents = append(c.Agents, a.id)
	}
	c.Agents = c.Agents[max(0, len(c.Agents)-carried):]
	c.Recent = append(slices.Clone(r.prev.Recent), r.ID.String())
	c.Recent = c.Recent[max(0, len(c.Recent)-carried):]
	c.Silent = slices.Clone(r.prev.Silent)
	if r.silent {
		c.Silent = append(c.Silent, r.ID.String())
	}
	c.Silent = slices.DeleteFunc(c.Silent, func(id string) bool { return !slices.Contains(c.Recent, id) })
	return c
}
