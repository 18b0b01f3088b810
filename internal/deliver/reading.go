package deliver

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
)

// reading is the state of prepare.
type reading struct {
	*Deliverer
	*pending
	key spool.Key
	src Source
	st  *State
	// whole reports that all runs are wanted, so that each waits for those that settle.
	whole  bool
	facts  Facts
	worked worked
	// terms are the settings of the records, where they change.
	terms []termsFrom
	// recall finds turns that carry no longer names; it may be nil.
	recall func(turn otelmap.RunID) *otelmap.Carry
	// rules are the redaction rules of records, and memory applies them besides this
	// process's; it may be nil.
	rules   []string
	memory  Memory
	mapping sync.Mutex
	// forgotten are the roots of the runs that the user has deleted.
	forgotten map[string]bool
	// lateDone reports that there are new events of runs that are done.
	lateDone bool
	start    sessionStart
	// last is the newest event. The end of a session does not count: it may be that of an
	// earlier process of the agent.
	last hook.Event
	// silently is when the open run has ended, as the host's files say and no event does;
	// zero if they do not say so.
	silently time.Time
	// linked reports that the session that led to this one was looked for.
	linked bool
	// begun is when the first run began that is to be sent now or later.
	begun time.Time
	// at is when the last record was stored.
	at time.Time
	// seen is the size of the log before it was read to its end: a torn record stays behind
	// what was read for ever.
	seen int64
}

// reading returns the reading of a session from a position.
func (d *Deliverer) reading(key spool.Key, st *State) *reading {
	return &reading{
		Deliverer: d, key: key, src: d.Sources[key.Host], st: st,
		pending: &pending{host: key.Host, session: st.Session, carry: st.Carry},
	}
}

// read reads the log up to a number of bytes behind the position.
func (p *reading) read(r *spool.Reader, window int64) error {
	p.more = true
	for p.more && r.Offset()-p.st.Offset < window {
		p.more = r.Next()
		if p.more {
			if err := p.add(r.Record()); err != nil {
				return err
			}
		}
	}
	p.size = r.Offset()
	return nil
}

// termsFrom are the settings of the records from an offset on.
type termsFrom struct {
	offset   int64
	settings string
	// here reports that runs with them may go where this process sends.
	here bool
	// less are Terms.Less.
	less map[string]otelmap.Capture
}

// tighten applies a record's settings to the records from there on: they count whichever
// process delivers.
func (p *reading) tighten(rec *spool.Record) error {
	if n := len(p.terms); p.Judge == nil || n > 0 && p.terms[n-1].settings == rec.Settings {
		return nil
	}
	t, here := p.Judge(rec.Settings)
	p.terms = append(p.terms, termsFrom{rec.Offset, rec.Settings, here, t.Less})
	p.builder.Tighten(t.Capture)
	var clean func(string, int) string
	if t.Rules != "" && !slices.Contains(p.rules, t.Rules) {
		p.rules = append(p.rules, t.Rules)
		var err error
		if p.memory, err = p.Memory(p.rules); err != nil {
			return fmt.Errorf("session %s is not delivered: %w", p.key.Name, err)
		}
		p.memory.At(rec.Offset)
		clean = p.memory.Clean
	}
	p.builder.Limit(t.MaxInput, t.MaxOutput, clean)
	return nil
}

// place returns the settings that decide where a run may go, and whether that is here.
func (p *reading) place(r *otelmap.Run) (settings string, here bool) {
	if len(p.terms) == 1 {
		return p.terms[0].settings, p.terms[0].here
	}
	here = true
	for at := range r.Offsets {
		if t := p.termsAt(at); settings == "" || !t.here {
			settings, here = t.settings, t.here
		}
		if !here {
			break
		}
	}
	return settings, here
}

func (p *reading) add(rec *spool.Record) error {
	if p.builder == nil {
		p.session = rec.Session
		o := p.Map
		o.Agent = p.src.Agent
		if p.Memory != nil {
			var err error
			if p.memory, err = p.Memory(nil); err != nil {
				return fmt.Errorf("session %s is not delivered: %w", p.key.Name, err)
			}
		}
		if p.memory != nil {
			o.Clean = p.memory.Clean
		}
		p.builder = otelmap.NewBuilder(p.host, p.session, o, p.carry)
		p.builder.Recall(p.recall)
	}
	if err := p.tighten(rec); err != nil {
		return err
	}
	if !rec.At.IsZero() {
		p.at = rec.At
	}
	events, err := p.src.Decode(rec)
	if err != nil {
		// The record stays in the log; `hookspan doctor` shows it.
		p.logf("session %s: event at %d: %v", p.key.Name, rec.Offset, err)
		p.builder.Lose(rec.Offset)
	}
	for i := range events {
		if events[i].Session == "" {
			// It belongs to no known session and hence to no run. It stays in the log,
			// where `hookspan doctor` shows it.
			continue
		}
		if p.memory != nil {
			p.memory.At(events[i].Offset)
		}
		p.builder.Add(events[i])
		if events[i].Kind != hook.KindSessionEnd || p.last.Kind == hook.KindUnknown {
			p.last = events[i]
		}
		p.facts.note(&events[i])
		p.worked.note(&events[i])
		p.start.note(rec, &events[i])
	}
	return nil
}

// due returns the runs that can be sent at a time. It notes which runs there are
// and, at the log's end, how long those that are settling still take.
func (p *reading) due(now time.Time) (due []*otelmap.Run) {
	p.known, p.gone, p.settling, p.begun = make(map[string]bool), make(map[string]bool), 0, now
	if p.builder == nil {
		return nil
	}
	for _, r := range p.builder.Runs(now) {
		id := r.ID.String()
		p.known[id] = true
		p.agents = p.agents || r.Outcome != "" && !r.Ended
		quiet, wait := now.Sub(r.EndedAt), settle
		if r.Failing() && !r.Ended && !p.more && quiet >= 0 && quiet < lateUsage {
			// The host's files will say whether the failure is the run's.
			p.settle(min(complete, lateUsage-quiet))
		}
		if r.Outcome == otelmap.OutcomeCancelled {
			wait = otelmap.CancelGrace
		}
		still := wait
		if quiet < settle && r.Complete() {
			wait = complete
		}
		_, root := p.builder.Root(r)
		if p.forgotten[root] {
			p.gone[id] = true
		}
		p.begins(r)
		p.lateDone = p.lateDone || p.st.Done[id] && p.st.Read > 0 && r.Last >= p.st.Read && r.Since(p.st.Read)
		switch {
		case p.st.Done[id] || r.Repeated || !r.Ended || p.gone[id]:
		case p.more && quiet > -clockStep && quiet < still:
			// What belongs to it may be behind the part that was read.
		case quiet < wait && quiet >= 0:
			p.settle(wait - quiet)
		default:
			due = append(due, r)
		}
	}
	p.finished = !p.more && p.builder.Finished(now)
	return due
}

// begins notes when the first run began that is to be sent now or later.
func (p *reading) begins(r *otelmap.Run) {
	if begun := r.Begun(); !p.st.Done[r.ID.String()] && begun.Before(p.begun) {
		p.begun = begun
	}
}

// settle notes that a run settles for some time yet. Runs that have settled wait for none,
// unless all are wanted. Ends that are close together are read together.
func (p *reading) settle(left time.Duration) {
	if p.settling == 0 || p.whole {
		p.settling = max(p.settling, left)
	} else {
		p.settling = min(p.settling, max(left, complete))
	}
}

// mappedOnce is the number of runs of a session up to which they are mapped once, for all
// destinations. More, as after an outage, are mapped one at a time for each destination,
// and a long run one batch at a time, so that memory holds the spans of only one.
const mappedOnce = 8

// mapRuns maps the runs that can be sent.
func (p *reading) mapRuns(ctx context.Context, s *spool.Session) (err error) {
	if p.builder == nil {
		return nil
	}
	if p.st.Carry.Runs == 0 && !p.linked {
		p.linked = true
		p.link(ctx)
	}
	now := p.at
	if !p.more {
		now = p.Now()
		p.endSilently(ctx)
	}
	due := p.due(now)
	if p.settling > 0 && (p.whole || len(due) == 0) {
		return ctx.Err()
	}
	defer func() {
		if err == nil {
			err = p.mapLate(ctx, s)
		}
	}()
	if len(due) == 0 {
		return ctx.Err()
	}
	first := slices.MinFunc(due, func(x, y *otelmap.Run) int { return x.Begun().Compare(y.Begun()) })
	p.facts.Since = first.Begun().Add(-fileLead)
	if p.more {
		p.facts.Until = now.Add(undecided)
	}
	tr, again, err := p.transcript(ctx, s, due)
	if again > 0 {
		// The newest run is undecided.
		p.settle(again)
		due = due[:len(due)-1]
		if p.whole || len(due) == 0 {
			return ctx.Err()
		}
	}
	if err != nil {
		p.logf("session %q of %s: not all of the host's files was read: %v", p.session, p.host, err)
		if tr != nil {
			tr.Unread = append(tr.Unread, hook.Unread{Whole: true, Reason: "they could not be read completely"})
		}
	}
	if tr != nil && p.builder.ApplyFiles(tr) {
		due = p.due(now)
		if again > 0 && len(due) > 0 {
			p.settle(again)
			due = due[:len(due)-1]
		}
	}
	if len(due) > 0 {
		p.locate(ctx, s, due, tr)
	}
	if len(due) > 0 {
		p.builder.Seal()
	}
	for _, r := range due {
		run := p.prepare(r, tr)
		if run.batches == nil && len(due) <= mappedOnce {
			// A panic here is ignored: it comes again when the run is sent, and there fails
			// only this run.
			_ = guarded(p.key, func() error {
				spans := run.spans()
				run.spans = func() *tracepb.ResourceSpans { return spans }
				return nil
			})
		}
		p.runs = append(p.runs, run)
	}
	return ctx.Err()
}

// prepare returns a run to send.
func (p *reading) prepare(r *otelmap.Run, tr *hook.Transcript) prepared {
	run := prepared{ids: []otelmap.RunID{r.ID}}
	run.Trace, run.Root = p.builder.Root(r)
	run.Run = r.Whole().String()
	settings, here := p.place(r)
	run.settings, run.elsewhere, run.host, run.less = settings, !here, p.host, p.less(r)
	run.spans = func() *tracepb.ResourceSpans {
		return p.mapped(r, func() *tracepb.ResourceSpans { return p.builder.Spans(r, tr) })
	}
	if r.Last-r.First > cmp.Or(p.Window, defaultWindow) {
		batches := p.builder.Batches(r, tr)
		run.batches = func(size int) iter.Seq[[]*tracepb.ResourceSpans] {
			return func(yield func([]*tracepb.ResourceSpans) bool) {
				next, stop := iter.Pull(batches(size))
				defer stop()
				for more := true; more; {
					spans := p.mapped(r, func() (spans *tracepb.ResourceSpans) {
						spans, more = next()
						if !more {
							spans = &tracepb.ResourceSpans{}
						}
						return spans
					})
					more = more && yield([]*tracepb.ResourceSpans{spans})
				}
			}
		}
	}
	return run
}

// mapped is Mapped for one destination at a time: the memory counts what it finds meanwhile as
// the run's.
func (p *reading) mapped(r *otelmap.Run, spans func() *tracepb.ResourceSpans) *tracepb.ResourceSpans {
	p.mapping.Lock()
	defer p.mapping.Unlock()
	return p.Mapped(p.memory, r, spans)
}

// Mapped maps a run and removes the secrets, by the memory of its builder if there is one.
func (d *Deliverer) Mapped(m Memory, r *otelmap.Run, mapped func() *tracepb.ResourceSpans) *tracepb.ResourceSpans {
	if m == nil {
		return d.Clean(mapped())
	}
	m.At(r.Last)
	return m.Redact(mapped(), func(at int64) bool { return r.First <= at && at <= r.Last })
}

// clean removes the secrets from spans of a run, by the rules of the records too.
func (p *reading) clean(r *otelmap.Run, spans *tracepb.ResourceSpans) *tracepb.ResourceSpans {
	return p.mapped(r, func() *tracepb.ResourceSpans { return spans })
}

// Clean removes the secrets from spans. Send does not.
func (d *Deliverer) Clean(spans *tracepb.ResourceSpans) *tracepb.ResourceSpans {
	if d.Redact == nil {
		return spans
	}
	return d.Redact(spans)
}

// endSilently ends the open run if the host's files show that it has ended, such
// as by an interruption, which no hook reports.
func (p *reading) endSilently(ctx context.Context) {
	p.endAgents(ctx)
	runs := p.builder.Runs(p.Now())
	if p.src.End == nil || len(runs) == 0 || runs[len(runs)-1].Ended {
		return
	}
	kind, at, err := p.src.End(ctx, p.session, p.facts)
	if err != nil {
		p.logf("session %q of %s: %v", p.session, p.host, err)
	}
	// The last hook may have been stored a little later.
	last := p.last.At()
	if kind == hook.KindUnknown || at.Before(last.Add(-settle)) || at.Before(runs[len(runs)-1].Begun()) {
		return
	}
	if at.Before(last) {
		at = last
	}
	p.silently = at
	p.builder.Add(hook.Event{
		Host: p.host, Dialect: p.facts.Dialect, Session: p.session, Kind: kind,
		Name: "session file", Time: at, StoredAt: at, Offset: p.last.Offset,
	})
}

// endAgents ends the agents that keep a run open, as far as the host's files show that
// they have ended.
func (p *reading) endAgents(ctx context.Context) {
	now := p.Now()
	for _, r := range p.builder.Runs(now) {
		if r.Outcome == "" || r.Ended || p.src.Transcript == nil {
			continue
		}
		facts := p.facts
		facts.Since = r.Begun().Add(-fileLead)
		// What cannot be read now may be known later.
		if tr, _ := p.src.Transcript(ctx, p.session, facts); tr != nil {
			p.builder.EndAgents(slices.DeleteFunc(slices.Clone(tr.Agents), func(a hook.Subagent) bool { return now.Sub(a.End) < settle }))
		}
		return
	}
}

// transcript reads the host's files. If the run has only just ended, it reads them
// again while the usage of the last request is missing, the lead's or that of a
// subagent that has ended, or while it is undecided whether a run of an open session
// may end. A run that ends in the future, because the clock was set back, counts as
// ending now. again is not zero if an event was stored meanwhile, which may be the answer, as
// hooks can tell of it before the files do: the log is to be read again after that time.
// That ends some time after the run's end, since each event may have put off EndedAt.
func (p *reading) transcript(ctx context.Context, s *spool.Session, due []*otelmap.Run) (tr *hook.Transcript, again time.Duration, err error) {
	if p.src.Transcript == nil {
		return nil, 0, nil
	}
	ended, stopped := due[len(due)-1].EndedAt, due[len(due)-1].StoppedAt()
	if now := p.Now(); ended.After(now) {
		ended = now
	}
	grown := func() bool {
		size, err := s.Size()
		return err == nil && size > p.seen && !p.more
	}
	for open := false; ; {
		begun, before := p.Now(), open
		tr, err = p.src.Transcript(ctx, p.session, p.facts)
		now := p.Now()
		waited, since := now.Sub(ended), now.Sub(stopped)
		open = tr != nil && tr.Undecided && !p.finished && since < undecided
		switch {
		case tr == nil, waited >= undecided:
			return tr, 0, err
		case (open || before) && since >= 0 && grown(): // what decides it may be stored and in the files at once
			return tr, max(poll, since/10), err
		case open:
		case waited >= lateUsage:
			return tr, 0, err
		case !tr.Pending && !slices.ContainsFunc(due, func(r *otelmap.Run) bool { return r.Lacks(tr) }):
			return tr, 0, err
		}
		if p.Sleep(ctx, max(poll, waited/10, now.Sub(begun))) != nil {
			return tr, 0, err
		}
	}
}
