package deliver

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
)

// Times around a run's end.
const (
	// settle is how long after a run's end its spans are made: hooks that run
	// in parallel with the last one may still be writing.
	settle = time.Second
	// lateUsage is how long the last request's token count is awaited.
	lateUsage = 2 * time.Second
	// undecided is how long it is awaited whether an end stands: the user's own
	// hooks may be looking at it, such as one that runs the tests first. What is
	// decided later makes a run of its own.
	undecided = 30 * time.Second
	// poll is the pause between two looks at the host's files.
	poll = 200 * time.Millisecond
)

// Source reads one host's sessions.
type Source struct {
	// Agent is what the mapping must know of the agent.
	Agent otelmap.Agent
	// Decode turns a record of the spool into events.
	Decode func(*spool.Record) ([]hook.Event, error)
	// Transcript reads what the host's own files say about the session of these
	// events. It may return both a transcript and an error. If nil, there is
	// none.
	Transcript func(ctx context.Context, session string, events Facts) (*hook.Transcript, error)
	// Origin names the session that this one was forked from, and the turn after
	// which. If nil, forks are not followed.
	Origin func(ctx context.Context, session string, events Facts) (origin, turn string, err error)
	// End asks the host's own files whether a session is over whose hooks did
	// not say so: hook.KindUnknown means no. If nil, only hooks tell.
	End func(ctx context.Context, session string, events Facts) (hook.Kind, time.Time, error)
}

// Facts is what is known of a session from its events when its files are
// looked for.
type Facts struct {
	// Dialect, Cwd and Transcript are those of the newest event that has them;
	// Transcript is the path of the session's file, as the host names it.
	Dialect    string
	Cwd        string
	Transcript string
	// Since is the moment from which on the files are of interest: the beginning
	// of the oldest run that is due. Zero means all.
	Since time.Time
	// Until is the moment up to which they are; zero means now.
	Until time.Time
}

// note takes what an event says.
func (f *Facts) note(e *hook.Event) {
	f.Dialect = cmp.Or(e.Dialect, f.Dialect)
	f.Cwd = cmp.Or(e.Cwd, f.Cwd)
	f.Transcript = cmp.Or(e.Transcript, f.Transcript)
}

// pending is what a session holds for a destination at one position.
type pending struct {
	host, session string
	runs          []prepared
	// next and carry are where the destination may continue once every run
	// that done accepts has been answered for.
	boundary func(done func(otelmap.RunID) bool) (int64, otelmap.Carry)
	size     int64
	// elsewhere reports that some of it was recorded under other settings.
	elsewhere bool
	// known are the runs that reading met, done or not.
	known map[string]bool
	// settling is how long the last ended run must still settle.
	settling time.Duration
	// finished reports that the session has ended.
	finished bool
	// more reports that the log goes on behind what was read.
	more bool
}

// prepared is a run that has ended, ready to be sent.
type prepared struct {
	// ids are the runs it holds.
	ids []otelmap.RunID
	Ref
	// joined are the further runs it holds.
	joined []Ref
	// spans maps it, the root first.
	spans func() *tracepb.ResourceSpans
}

// defaultWindow is how much of a log is read at once. Memory depends on it, and
// on the longest run.
const defaultWindow = 4 << 20

// prepare reads a session from a position and maps the runs that have ended and
// that the destination has not answered for. Unless the whole log is asked for,
// it stops behind a part of it in which such runs are found: what has ended by
// the last event of a part is what a delivery at that moment would have found.
func (d *Deliverer) prepare(ctx context.Context, s *spool.Session, st *State, whole bool) (*pending, error) {
	src, ok := d.Sources[s.Key().Host]
	if !ok {
		return nil, fmt.Errorf("session %s: no reader for host %q in this hookspan: upgrade it", s.Key().Name, s.Key().Host)
	}
	r, err := s.Reader(st.Offset)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()

	out := &pending{host: s.Key().Host, session: st.Session}
	p := reading{d: d, key: s.Key(), src: src, out: out, carry: st.Carry}
	for limit := cmp.Or(d.Window, defaultWindow); ; limit *= 2 {
		if whole {
			limit = math.MaxInt64
		}
		out.more = p.read(r, st.Offset, limit)
		if err := r.Err(); err != nil {
			return nil, fmt.Errorf("read session %s: %w", s.Key().Name, err)
		}
		out.size = r.Offset()
		if out.more && len(d.due(p.b, st, out, p.at)) == 0 {
			continue
		}
		if err := d.mapRead(ctx, &p, s, st); err != nil {
			return nil, err
		}
		// What the host's files say may open a run again.
		if !out.more || len(out.runs) > 0 {
			break
		}
	}
	// After the reading, so that no position comes to stand behind what lasts: a
	// log that lost its end would grow past it again.
	if err := d.syncLog(s); err != nil {
		return nil, err
	}
	if dmg := r.Damage(); len(dmg) > 0 {
		if err := s.Quarantine(dmg); err != nil {
			d.logf("session %s: quarantine: %v", s.Key().Name, err)
		}
		d.logf("session %s: %d damaged places, first at %d: %s", s.Key().Name, len(dmg), dmg[0].Offset, dmg[0].Reason)
	}
	return out, nil
}

// mapRead maps what was read so far.
func (d *Deliverer) mapRead(ctx context.Context, p *reading, s *spool.Session, st *State) error {
	out := p.out
	if p.b == nil {
		out.boundary = func(func(otelmap.RunID) bool) (int64, otelmap.Carry) { return out.size, st.Carry }
		return nil
	}
	if st.Carry.Runs == 0 && !p.followed {
		p.followed = true
		d.follow(ctx, p.b, s, p.src, p.began, p.facts, out.session)
	}
	now := p.at
	if !out.more {
		now = d.Now()
		d.silentEnd(ctx, p.b, p.src, p.facts, out, p.last)
	}
	return d.mapRuns(ctx, p.b, st, p.src, p.facts, out, now)
}

// reading is what was read of a log so far.
type reading struct {
	d     *Deliverer
	key   spool.Key
	src   Source
	out   *pending
	carry otelmap.Carry
	b     *otelmap.Builder
	facts Facts
	began beginning
	last  hook.Event
	// followed says that the session it came from has been looked for.
	followed bool
	// at is when the last record was stored.
	at time.Time
}

// read goes on until as much as limit was read since the offset from. It reports
// that there is more.
func (p *reading) read(r *spool.Reader, from, limit int64) bool {
	for r.Offset()-from < limit {
		if !r.Next() {
			return false
		}
		p.add(r.Record())
	}
	return true
}

func (p *reading) add(rec *spool.Record) {
	if p.b == nil {
		p.out.session = rec.Session
		o := p.d.Map
		o.Agent = p.src.Agent
		p.b = otelmap.NewBuilder(p.out.host, p.out.session, o, p.carry)
	}
	if p.d.Judge != nil {
		capture, same := p.d.Judge(rec.Settings)
		p.b.Tighten(capture)
		p.out.elsewhere = p.out.elsewhere || !same
	}
	if !rec.At.IsZero() {
		p.at = rec.At
	}
	events, err := p.src.Decode(rec)
	if err != nil {
		// The record stays in the log as it is; `hookspan doctor` shows it.
		p.d.logf("session %s: event at %d: %v", p.key.Name, rec.Offset, err)
	}
	for i := range events {
		if events[i].Session == "" {
			// Of what session it is nobody can say: no run is made of it. It
			// stays in the log, where `hookspan doctor` shows it.
			continue
		}
		p.b.Add(events[i])
		p.last = events[i]
		p.facts.note(&events[i])
		p.began.note(rec, &events[i])
	}
}

// silentEnd closes an open run that is over by the host's own files, such as
// one whose program was interrupted.
func (d *Deliverer) silentEnd(ctx context.Context, b *otelmap.Builder, src Source, facts Facts, out *pending, last hook.Event) {
	runs := b.Runs(d.Now())
	if src.End == nil || len(runs) == 0 || runs[len(runs)-1].Ended {
		return
	}
	kind, at, err := src.End(ctx, out.session, facts)
	if err != nil {
		d.logf("session %q of %s: %v", out.session, out.host, err)
	}
	if kind == hook.KindUnknown || at.Before(last.At()) {
		return
	}
	b.Add(hook.Event{
		Host: out.host, Dialect: facts.Dialect, Session: out.session, Kind: kind,
		Name: "session file", Time: at, StoredAt: at, Offset: last.Offset,
	})
}

// mapRuns fills in the ended runs' spans.
func (d *Deliverer) mapRuns(ctx context.Context, b *otelmap.Builder, st *State, src Source, facts Facts, out *pending, now time.Time) error {
	out.boundary = func(done func(otelmap.RunID) bool) (int64, otelmap.Carry) {
		return b.Boundary(done, out.size)
	}
	due := d.due(b, st, out, now)
	if len(due) == 0 {
		return ctx.Err()
	}
	facts.Since = begun(due)
	if out.more {
		facts.Until = now.Add(undecided)
	}
	tr, err := d.transcript(ctx, src, out, facts, due[len(due)-1].EndedAt)
	if err != nil {
		d.logf("session %q of %s: not all of the host's files was read: %v", out.session, out.host, err)
	}
	if tr != nil && b.ApplyRefusals(tr.Ends) {
		due = d.due(b, st, out, now)
	}
	for _, r := range due {
		p := prepared{ids: []otelmap.RunID{r.ID}, spans: func() *tracepb.ResourceSpans { return d.spans(b, r, tr) }}
		p.Trace, p.Root = b.Root(r)
		if len(due) <= mappedOnce {
			spans := p.spans()
			p.spans = func() *tracepb.ResourceSpans { return spans }
		}
		out.runs = append(out.runs, p)
	}
	return ctx.Err()
}

// mappedOnce is how many runs of a session are mapped once for all destinations.
// Of more, as after an outage, each destination maps one at a time: memory then
// holds the events, and the spans of one run.
const mappedOnce = 8

// spans maps a run and removes the secrets.
func (d *Deliverer) spans(b *otelmap.Builder, r *otelmap.Run, tr *hook.Transcript) *tracepb.ResourceSpans {
	spans := b.Spans(r, tr)
	if d.Redact != nil {
		spans = d.Redact(spans)
	}
	return spans
}

// due are the runs that can be sent at a moment. It notes in out which runs
// there are and, at the log's end, how long those that are settling still take.
// A part without any event has none.
func (d *Deliverer) due(b *otelmap.Builder, st *State, out *pending, now time.Time) []*otelmap.Run {
	out.known, out.settling = make(map[string]bool), 0
	if b == nil {
		return nil
	}
	var due []*otelmap.Run
	for _, r := range b.Runs(now) {
		out.known[r.ID.String()] = true
		quiet := now.Sub(r.EndedAt)
		switch {
		case st.Done[r.ID.String()] || r.Repeated || !r.Ended:
		case out.more && quiet > -clockStep && quiet < settle:
			// What belongs to it may stand behind what was read.
		case quiet < settle && quiet >= 0:
			out.settling = max(out.settling, settle-quiet)
		default:
			due = append(due, r)
		}
	}
	out.finished = !out.more && b.Finished(now)
	return due
}

// clockStep is how far back a clock must have been set for an end in the future
// to be none that other processes have yet to write about.
const clockStep = time.Minute

// fileLead is how far what a host writes to its files may precede the hook that
// reports the same.
const fileLead = 10 * time.Second

// begun is the moment from which on the host's files may tell of these runs.
func begun(runs []*otelmap.Run) time.Time {
	first := runs[0].Begun()
	for _, r := range runs[1:] {
		if at := r.Begun(); at.Before(first) {
			first = at
		}
	}
	return first.Add(-fileLead)
}

// transcript reads the host's files, again while the newest request's usage is
// missing, or while it is undecided whether the end of a session that goes on
// stands, and the run has only just ended. A run that seems to end in the future,
// because the clock was set back, is waited for no longer.
func (d *Deliverer) transcript(ctx context.Context, src Source, out *pending, facts Facts, ended time.Time) (*hook.Transcript, error) {
	if src.Transcript == nil {
		return nil, nil
	}
	if now := d.Now(); ended.After(now) {
		ended = now
	}
	for {
		tr, err := src.Transcript(ctx, out.session, facts)
		waited := d.Now().Sub(ended)
		switch {
		case tr == nil, waited >= undecided:
			return tr, err
		case tr.Undecided && !out.finished:
		case !tr.Pending, waited >= lateUsage:
			return tr, err
		}
		if d.Sleep(ctx, max(poll, waited/10)) != nil {
			return tr, err
		}
	}
}

func (d *Deliverer) syncLog(s *spool.Session) error {
	if !d.SyncLog {
		return nil
	}
	if err := s.Sync(); err != nil {
		return fmt.Errorf("sync session %s: %w", s.Key().Name, err)
	}
	return nil
}
