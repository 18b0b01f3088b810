package otelmap

import (
	"cmp"
	"hash/maphash"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hookspan/hookspan/hook"
)

// Builder collects one session's events and returns its runs.
type Builder struct {
	host, session string
	opts          Options
	carry         Carry
	seed          maphash.Seed

	items []*item
	seen  map[identity]*item
	// facts and names are what items share.
	facts map[facts]*facts
	names map[string]string
	// start is the toolResult of the newest start of a call.
	start *toolResult
	// remarks are those of the newest event that has any.
	remarks *remarks
	// hooks are the records of the user's hooks by the hash of the event that they
	// are about, ran those of the last Runs by event.
	hooks map[uint64][]*hook.Event
	ran   map[*item]*hook.Event
	// background is what events say about agents in the background, agentEnds what the
	// agent's files say about their ends.
	background map[*item]*hook.Background
	agentEnds  map[string]hook.Subagent
	// logged is what the first copy in the log of an event that has copies says, by its offset.
	logged map[int64]firstCopy
	// partial reports that reading began in the middle of the log.
	partial bool
	// maxStored and epoch follow the clock in the order of the log.
	maxStored time.Time
	epoch     int32
	// inputs are the newest tool inputs with what is kept of them: the end of a call repeats
	// the input of its start.
	inputs [8]struct {
		input string
		tool  *toolEvent
	}
	// begun is the offset of the newest prompt: the end of a session before it is not
	// that of the process after it.
	begun int64
	// stopped is that of the newest end.
	stopped int64
	// unknown counts the events that no decoder understood.
	unknown int
	runs    []*Run
	// files is what the agent's files hold that Spans was last asked with.
	files atomic.Pointer[files]
	// unread stands for a transcript that there is not.
	unread hook.Transcript
	// after is the carry after the last run and the session's events since.
	after Carry
	// ended reports that the session has ended and has not started again.
	ended bool
	// late is what Late returns.
	late []Missed
	// recall finds older turns than those of carry, recalled is what it has found.
	recall   func(turn RunID) *Carry
	recalled map[RunID]*Carry
	// lost are the places of events that could not be read, in order.
	lost []int64
	// checkouts and commits are those that In was given.
	checkouts hook.Checkouts
	commits   map[uint64][]string
	// requests are those that hooks report.
	requests requests
}

// Lose tells the builder that an event at an offset could not be read. Its run says so.
func (b *Builder) Lose(offset int64) {
	if at, known := slices.BinarySearch(b.lost, offset); !known {
		b.lost = slices.Insert(b.lost, at, offset)
	}
}

// NewBuilder returns a builder for a session that begins where c was taken; the
// zero Carry means the session's beginning.
func NewBuilder(host, session string, o Options, c Carry) *Builder {
	return &Builder{
		host: host, session: session, opts: o.withDefaults(host), carry: c, maxStored: c.Stored,
		seed: maphash.MakeSeed(), seen: make(map[identity]*item), hooks: make(map[uint64][]*hook.Event),
		facts: make(map[facts]*facts), names: make(map[string]string), background: make(map[*item]*hook.Background),
		logged: make(map[int64]firstCopy),
	}
}

// SetPartial tells the builder that its events begin in the middle of a log and
// that the events before are not known. SpanFor then answers only for runs whose
// beginning is certainly among the events.
func (b *Builder) SetPartial() { b.partial = true }

// Tighten lowers how much of later events, and of the host's files, is captured.
// It never raises it: a session for which less was asked in one place gets less
// in all.
func (b *Builder) Tighten(c Capture) {
	if c.openness() == 0 {
		c = CaptureNone
	}
	if c.Stricter(b.opts.Capture) {
		b.opts.Capture = c
		clear(b.inputs[:])
	}
}

// In says what was checked out where the session's agents worked, and which commits calls made, by
// the hashes of the events of their ends.
func (b *Builder) In(c hook.Checkouts, commits map[uint64][]string) {
	b.checkouts, b.commits = c, commits
}

// Limit lowers the lengths of previews of later events, unless they are zero, and
// replaces Options.Clean, unless clean is nil.
func (b *Builder) Limit(maxInput, maxOutput int, clean func(text string, max int) string) {
	if maxInput > 0 {
		b.opts.MaxInput = min(b.opts.MaxInput, maxInput)
	}
	if maxOutput > 0 {
		b.opts.MaxOutput = min(b.opts.MaxOutput, maxOutput)
	}
	if clean != nil {
		b.opts.Clean = clean
	}
	clear(b.inputs[:])
}

// Late returns the events that belong to runs before the place where reading began and may
// change their spans, by the last call of Runs.
func (b *Builder) Late() []Missed { return b.late }

// Add takes the next event of the log. Events must be added in the order of
// their offsets.
func (b *Builder) Add(e hook.Event) {
	switch e.Kind {
	case hook.KindUnknown:
		b.unknown++
		return
	case hook.KindAside:
		if e.Request != nil {
			b.requests.add(&e)
		}
		if e.Turn == "" || !b.opts.Agent.Unnamed {
			return // else it names a turn
		}
	case hook.KindHookRuns:
		b.addHooks(e)
		return
	}
	b.runs = nil
	id, within := b.identify(&e)
	first := b.seen[id]
	switch {
	case id == (identity{}):
		b.keep(e)
	case first == nil && b.carry.EndKey != "" && b.carry.EndKey == endKey(&e) && e.StoredAt.Sub(b.carry.Stored).Abs() <= within:
	case first == nil || within > 0 && e.StoredAt.Sub(first.StoredAt()).Abs() > within ||
		e.Kind == hook.KindSessionEnd && first.Offset < b.begun || b.anew(&e, first):
		b.seen[id] = b.keep(e)
	default:
		first.last = max(first.last, e.Offset)
		if _, known := b.logged[first.Offset]; !known {
			b.logged[first.Offset] = firstCopy{first.time, first.stored, first.Hash}
		}
		if id.time != 0 {
			first.stored = max(instantOf(e.StoredAt), first.stored)
		} else if e.StoredAt.Before(first.StoredAt()) {
			// The earliest copy counts, whichever was logged first.
			earlier := b.clean(e)
			earlier.epoch, earlier.Offset, earlier.last = first.epoch, first.Offset, first.last
			*first = *earlier
		}
	}
}

// anew reports that an event is no copy of one that says the same. Where hooks name neither turns
// nor times, a prompt that is submitted again when its turn has ended, and the failure of that turn,
// look like those before. Copies of a hook come before the next event.
func (b *Builder) anew(e *hook.Event, first *item) bool {
	if !b.opts.Agent.Unnamed || !b.turns() || e.Key != "" || !e.Time.IsZero() {
		return false
	}
	return e.Kind == hook.KindPrompt && first.Offset < b.stopped || e.Kind == hook.KindRunError && first.Offset < b.begun
}

// Seal frees what finds the copies of events: Add must not be called again.
func (b *Builder) Seal() { b.seen = nil }

// Unknown returns how many events no decoder understood.
func (b *Builder) Unknown() int { return b.unknown }

// Runs returns the session's runs in order. Open runs that have been idle for too
// long at now have ended.
func (b *Builder) Runs(now time.Time) []*Run {
	s := &segmenter{b: b, carry: b.carry, agentRuns: make(map[string]*Run), turnRuns: make(map[string]*Run)}
	b.files.Store(nil)
	add := s.addTaskEvent
	if b.turns() {
		add = s.addTurnEvent
	}
	for _, it := range b.sorted() {
		add(it)
	}
	s.endByFiles()
	b.ran = b.matchHooks()
	before := b.carry
	before.Agents, before.Until, before.Recent, before.Silent, before.Awake, before.Ends = nil, nil, nil, nil, nil, nil
	for _, r := range s.runs {
		r.prev = before
		// The run is idle only when the user's hooks are. Their offsets do not count:
		// a record comes after its event and means nothing without it.
		for _, rec := range b.hooked(r) {
			r.EndedAt = latest(r.EndedAt, rec.StoredAt)
		}
		idle := hook.Elapsed(now, r.EndedAt, b.opts.IdleTimeout)
		// What the agent does later is a later part, also if the run gets the end behind which it went on.
		r.silent = r.silent || idle && b.turns() && r.terminal == nil && r.Outcome == ""
		if idle || r.superseded() {
			r.settle()
		}
		if idle && b.turns() {
			r.sleep(b.opts.IdleTimeout)
		}
		if r.terminal == nil && idle && r.Outcome == "" {
			r.Outcome, r.silent = b.silence(), true
		}
		b.identifyRun(r)
		r.Ended = (r.terminal != nil || r.superseded()) && !r.working() || idle
		before = r.after(&b.opts)
	}
	b.runs, b.after, b.ended, b.late = s.runs, s.carry, s.ended, s.late
	return s.runs
}

// Finished reports that the session has ended or has been silent for so long that
// it counts as ended, by the events of the last call of Runs.
func (b *Builder) Finished(now time.Time) bool {
	return b.ended || !slices.ContainsFunc(b.items, func(it *item) bool { return !hook.Elapsed(now, it.StoredAt(), b.opts.IdleTimeout) })
}

// Root returns the run's trace id as 32 hex digits and its root span's id as 16.
func (b *Builder) Root(r *Run) (traceID, spanID string) {
	sc := r.rootContext(&b.opts)
	return sc.TraceID().String(), sc.SpanID().String()
}

// RootIn returns the id of the root span that a run with a turn has if it is of another
// session, "" for one without.
func (b *Builder) RootIn(session string, r *Run) string {
	if r.turn == "" {
		return ""
	}
	return turnRunID(b.host, session, r.turn).spanID("root", "").String()
}

// LinkTo links the session's first run to the turn of another session that it
// continues. traceparent is the context that the turn was started in, if any.
func (b *Builder) LinkTo(session, turn, traceparent string) {
	r := &Run{ID: turnRunID(b.host, session, turn)}
	r.context, _ = parseTraceparent(traceparent)
	b.carry.PrevTrace, b.carry.PrevSpan = b.Root(r)
	b.runs = nil
}

// ApplyFiles takes from the host's files what hooks do not say of turns: which these are, and
// which ends were refused. It reports whether that changes the runs.
func (b *Builder) ApplyFiles(tr *hook.Transcript) bool {
	named := b.opts.Agent.Unnamed && b.nameTurns(tr)
	if named {
		b.runs = nil
	}
	return b.applyRefusals(tr.Ends) || named
}

// applyRefusals takes from the host's files which ends of turns one of the user's
// hooks refused, so that the agent continued. It reports whether that changes the
// runs.
//
// The times do not decide: the hooks of one event run at the same time, so that
// the refusal may be written before the end is stored. A turn's first refusal is
// that of its first end, and so on. Where turns have no number, a refusal has the
// time of its end. An end that names no turn is of the one that was named last.
func (b *Builder) applyRefusals(ends []hook.TurnEnd) bool {
	stops := make(map[string][]*item)
	began := make(map[string]time.Time)
	turn := ""
	for _, it := range b.sorted() {
		if it.ParentAgent != "" {
			continue
		}
		turn = cmp.Or(it.Turn, turn)
		if _, known := began[turn]; !known {
			began[turn] = it.At()
		}
		if it.Kind == hook.KindRunComplete || it.blocked() {
			stops[turn] = append(stops[turn], it)
		}
	}
	changed := false
	for _, e := range ends {
		list, n := stops[e.Turn], 0
		if e.Turn == "" {
			n = slices.IndexFunc(list, func(it *item) bool { return it.At().Equal(e.At) })
		}
		if e.Kind != hook.KindRunResume || n < 0 || n >= len(list) || e.At.Before(began[e.Turn]) {
			continue
		}
		stop := list[n]
		stops[e.Turn] = slices.Delete(list, n, n+1)
		if !stop.blocked() {
			stop.Kind, stop.remarks = hook.KindNote, &remarks{
				stop.Prompt, stop.Result, stop.Result, stop.ErrorType,
				append(slices.Clone(stop.Attrs), hook.Attr{Key: KeyStopBlocked, Value: true}), false, stop.endKey,
			}
			changed = true
		}
	}
	if changed {
		b.runs = nil
	}
	return changed
}

// Boundary returns the offset from which a later reader may start and the
// carry it then needs: the end of the longest prefix of runs that are done, if
// no event of another run is before it. size is the offset after the last event
// that was added.
func (b *Builder) Boundary(done func(RunID) bool, size int64) (int64, Carry) {
	n := 0
	for n < len(b.runs) && b.runs[n].Ended && (b.runs[n].Repeated || done(b.runs[n].ID)) {
		n++
	}
	carry := func() Carry {
		if n == 0 {
			return b.carry
		}
		c := b.runs[n-1].after(&b.opts)
		c.list(&b.carry, b.runs[:n])
		return c
	}
	if n == len(b.runs) {
		c := carry()
		c.Source, c.Model, c.Processes = b.after.Source, b.after.Model, b.after.Processes
		return size, c
	}
	// Runs overlap in the log if a background agent outlives its run, or if two turns
	// are open: then events of a done run come after the offset, and the run must be
	// read again.
	place, last := b.numbered()
	keep, beside := b.runs[n].First, n
	for i, r := range slices.Backward(b.runs) {
		if i < n && last[i+1] < keep && beside > i {
			break
		}
		keep, n = min(keep, r.First), min(n, i)
		if at, ok := place[r.beside]; ok {
			beside = min(beside, at)
		}
	}
	c := carry()
	c.Processes, c.Model = b.runs[n].processes, b.runs[n].model
	return keep, c
}

// numbered returns the number of each run, and for each number the last event of the runs before.
func (b *Builder) numbered() (place map[*Run]int, last []int64) {
	place, last = make(map[*Run]int, len(b.runs)), make([]int64, len(b.runs)+1)
	last[0] = -1
	for i, r := range b.runs {
		place[r], last[i+1] = i, max(last[i], r.Last)
	}
	return place, last
}

// turns reports that the agent numbers its turns.
func (b *Builder) turns() bool { return b.opts.Agent.Turns }

// silence is the outcome of a run without an end.
func (b *Builder) silence() string {
	if b.turns() {
		return OutcomeInterrupted
	}
	return OutcomeAbandoned
}

// sorted returns the items in the host's order. Hooks that run detached or in
// parallel reach the log in any order, so the host's clock decides; a clock
// that was set back starts a new epoch, within which it decides again.
func (b *Builder) sorted() []*item {
	s := slices.Clone(b.items)
	slices.SortStableFunc(s, func(x, y *item) int {
		if c := cmp.Or(cmp.Compare(x.epoch, y.epoch), cmp.Compare(x.at(), y.at())); c != 0 {
			return c
		}
		if b.turns() {
			// All times are those of storing, and the log is in that order.
			return cmp.Compare(x.Offset, y.Offset)
		}
		return cmp.Or(cmp.Compare(ranks[x.Kind], ranks[y.Kind]), cmp.Compare(x.Hash, y.Hash))
	})
	return s
}
