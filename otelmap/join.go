package otelmap

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
)

// joined is a run with what the host's files hold of it: who did what and when, how it ended,
// and what is not known. All is decided when it is made; the messages of its spans are
// written later.
type joined struct {
	*Builder
	run *Run
	tr  *hook.Transcript
	// files is what the host's files hold, own what of it belongs to the run.
	files *files
	own   *runFiles
	root  trace.SpanContext
	// start and end bound the run. compacted is when it was first compacted, if it was.
	start, end, compacted time.Time
	// open reports that the run has not ended.
	open   bool
	ending *hook.TurnEnd // as Run.ending
	// outcome is how the run ended, cause describes a failure.
	outcome string
	cause   hook.TurnEnd
	folders []string // of the workspace
	// place is what was checked out at the end.
	place hook.Repository
	// provider and model are what the run was asked to use.
	provider, model string
	// requests are those to the model, by their start.
	requests []*hook.Request
	// agents are the lead, then the subagents in the order in which they began.
	agents []*actor
	byID   map[string]*actor
	// allowed are the user's answers that a call may run, by the questions.
	allowed map[*item]*item
	// toolCalls counts the run's tool calls, of which toolFailures failed and
	// toolUnknown are of unknown outcome.
	toolCalls, toolFailures, toolUnknown int64
	// evidence says how much of the run is known, missing what is not.
	evidence, missing string
	// planned are the run's spans, the root first.
	planned []planned
}

// join joins a run, which is still open if now is set, with what the host's files hold of it.
func (b *Builder) join(r *Run, tr *hook.Transcript, now time.Time) *joined {
	j := &joined{
		Builder: b, run: r, tr: cmp.Or(tr, &b.unread), root: r.rootContext(&b.opts), open: !now.IsZero(), byID: make(map[string]*actor), allowed: make(map[*item]*item),
	}
	j.files = b.filesOf(j.tr)
	j.own = cmp.Or(j.files.shares[r.ID], &runFiles{})
	j.folders, j.ending = j.workspace(), r.ending(j.files)
	j.start, j.end = r.bounds()
	results := j.readResults()
	j.findAgents(results)
	j.joinRequests()
	j.bound(now)
	j.place = j.checkedOut("", j.end)
	j.provider, j.model = j.namedProvider()
	j.outcome, j.cause = j.ended()
	for _, a := range j.agents {
		j.joinCalls(a, results)
	}
	j.startAgents(results)
	j.chats()
	j.cover()
	j.evidence, j.missing = j.known(tr == nil, results)
	slices.SortStableFunc(j.planned, func(x, y planned) int {
		return cmp.Or(cmp.Compare(x.start, y.start), cmp.Compare(y.end, x.end), bytes.Compare(x.id[:], y.id[:]))
	})
	parent, _ := r.parent(&b.opts)
	root := planned{id: j.root.SpanID(), parent: parent.SpanID(), start: otlp.UnixNano(j.start), end: otlp.UnixNano(j.end), of: j.agents[0]}
	j.planned = slices.Insert(j.planned, 0, root)
	return j
}

// bound finds when the run began and ended.
func (j *joined) bound(now time.Time) {
	r := j.run
	if r.terminal == nil {
		for _, rec := range j.hooked(r) {
			j.end = latest(j.end, hooksEnded(rec))
		}
		if j.ending != nil {
			j.end = latest(j.end, j.ending.At)
		}
		// A request that was cut off is the last that is known of its run.
		for _, c := range j.agents[0].requests {
			j.end = latest(j.end, latest(c.Start, c.End))
		}
	}
	j.end = latest(j.end, now)
	if len(j.requests) > 0 && r.turn != "" {
		// Another part's end bounds the start of a later part. Else the hook of the prompt was slow.
		if c := j.requests[0]; !c.Start.IsZero() && c.Start.Before(j.start) && (r.later || !c.End.IsZero() && c.End.Before(j.start)) {
			j.start = latest(c.Start, r.resumed())
		}
	}
}

// ended returns how the run ended, and a failure: by the hooks, else by the host's files.
func (j *joined) ended() (string, hook.TurnEnd) {
	if j.open {
		return OutcomeRunning, hook.TurnEnd{}
	}
	if j.ending != nil {
		failure, outcome := *j.ending, outcomes[j.ending.Kind]
		failure.Message = j.opts.text(failure.Message, j.opts.MaxOutput)
		if failure.Kind == hook.KindRunCancel {
			outcome = "" // a turn is not taken back, unlike a task
		}
		return cmp.Or(outcome, j.run.Outcome, j.silence()), failure
	}
	if t := j.run.terminal; t != nil {
		failure := hook.TurnEnd{ErrorType: t.ErrorType, Message: t.Message}
		if j.turns() && (failure.ErrorType == "unknown" || failure.ErrorType == "") {
			// A host may record it in its files more exactly than in its hook.
			failure.ErrorType = cmp.Or(j.agents[0].last().Error, failure.ErrorType)
		}
		return j.run.Outcome, failure
	}
	return cmp.Or(j.run.Outcome, j.silence()), hook.TurnEnd{}
}

// ending returns the end of the run's turn in the host's files if the hooks
// reported none: an agent that exits may not wait for the hook of a failure, so
// that only the end of the session was reported.
func (r *Run) ending(f *files) *hook.TurnEnd {
	if r.turn == "" || r.terminal != nil && r.terminal.Kind != hook.KindSessionEnd {
		return nil
	}
	start := r.from.At().Truncate(time.Millisecond) // the precision of the files
	for _, e := range slices.Backward(f.ends[r.turn]) {
		nextPart := r.part != nil && e.At.After(r.part.from.At())
		if e.Kind != hook.KindRunResume && !e.At.Before(start) && !nextPart {
			return e
		}
	}
	return nil
}

// namedProvider returns the provider and model the run was asked to use, as the host
// spells them. Events may name the model alone.
func (j *joined) namedProvider() (provider, model string) {
	for it := range j.run.all {
		if provider, model = it.Provider, it.Model; model != "" {
			break
		}
	}
	requests := j.agents[0].requests
	for i := 0; model == "" && i < len(requests); i++ {
		provider, model = requests[i].Provider, requests[i].Model
	}
	if model == "" {
		provider, model = j.tr.Provider, cmp.Or(j.run.model, j.tr.Model)
	}
	for i := 0; provider == "" && i < len(requests); i++ {
		provider = requests[i].Provider
	}
	return cmp.Or(provider, j.tr.Provider), model
}

// planned is a span without its message: of a long run not all messages are in
// memory at once.
type planned struct {
	id, parent trace.SpanID
	start, end uint64
	// clamped reports that the end was before the start.
	clamped bool
	// of is what the span is of: an *actor, a *call or an *exchange.
	of any
}

// message returns the span without its ids and times.
func (j *joined) message(p *planned) *tracepb.Span {
	switch of := p.of.(type) {
	case *call:
		return j.toolMessage(of)
	case *exchange:
		return j.chatMessage(of)
	case *actor:
		if of.id != "" {
			return j.agentMessage(of)
		}
	}
	return j.rootMessage()
}

// plan adds the span of what it is of. An end before the start is moved to the start.
func (j *joined) plan(id, parent trace.SpanID, start, end time.Time, of any) {
	p := planned{id: id, parent: parent, start: otlp.UnixNano(start), end: otlp.UnixNano(end), of: of}
	if p.clamped = p.end < p.start; p.clamped {
		p.end = p.start
	}
	j.planned = append(j.planned, p)
}

// cover moves the start of each span to that of its earliest child. If a call
// took longer than the idle timeout, its end opens a run and its start lies
// before that run.
func (j *joined) cover() {
	parents := make(map[trace.SpanID]*planned) // fewer than there are spans
	for _, p := range j.planned {
		parents[p.parent] = nil
	}
	for i := range j.planned {
		if _, is := parents[j.planned[i].id]; is {
			parents[j.planned[i].id] = &j.planned[i]
		}
	}
	for i := range j.planned {
		p := &j.planned[i]
		if start := otlp.Time(p.start); start.Before(j.start) {
			j.start = start
		}
		parent := parents[p.parent]
		for parent != nil && p.start < parent.start {
			parent.start = p.start
			p, parent = parent, parents[parent.parent]
		}
	}
}
