package deliver

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
)

// Times around a run's end.
const (
	// settle is how long after a run's end its spans are made: hooks that run in
	// parallel with the last one may still write. complete is the time for a run of
	// which no event is missing: only copies and remarks can follow, from hooks that
	// were started at the same time.
	settle   = time.Second
	complete = 200 * time.Millisecond
	// lateUsage is how long the token count of the last request is awaited, the
	// lead's and each subagent's.
	lateUsage = 2 * time.Second
	// undecided is how long the delivery waits for the user's hooks to decide whether
	// a run may end: one of them may run tests first. A later refusal makes a separate
	// run.
	undecided = 30 * time.Second
	// poll is the shortest pause between two reads of the host's files.
	poll = 20 * time.Millisecond
	// clockStep is how far in the future an end must be to show that the clock was set
	// back since. The run then counts as settled: its other hooks have long ended.
	clockStep = time.Minute
	// fileLead is how long a host may have something in its files before the hook that
	// reports it runs.
	fileLead = 10 * time.Second
)

// Source reads one host's sessions.
type Source struct {
	// Agent is what the mapping must know about the agent.
	Agent otelmap.Traits
	// Decode turns a record of the spool into events.
	Decode func(*spool.Record) ([]hook.Event, error)
	// Transcript reads what the host's files say about the session of these
	// events. It may return both a transcript and an error. If nil, there is
	// none.
	Transcript func(ctx context.Context, session string, events Facts) (*hook.Transcript, error)
	// Origin names the session that this one was forked from, and the turn after
	// which. If nil, forks are not followed.
	Origin func(ctx context.Context, session string, events Facts) (origin, turn string, err error)
	// End reads from the host's files whether a session has ended without an event:
	// hook.KindUnknown means no. If nil, only hooks report an end.
	End func(ctx context.Context, session string, events Facts) (hook.Kind, time.Time, error)
}

// Facts is what a session's events say about where its files are and which part of
// them is wanted.
type Facts struct {
	// Dialect, Cwd and Transcript are those of the newest event that has them;
	// Transcript is the path of the session's file, as the host names it.
	Dialect    string
	Cwd        string
	Transcript string
	// Since and Until bound the wanted part of the files. Since is the beginning
	// of the oldest run to send, or zero for all; Until is zero for no bound.
	Since, Until time.Time
}

// note takes over what an event says.
func (f *Facts) note(e *hook.Event) {
	f.Dialect = cmp.Or(e.Dialect, f.Dialect)
	f.Cwd = cmp.Or(e.Cwd, f.Cwd)
	f.Transcript = cmp.Or(e.Transcript, f.Transcript)
}

// pending is what a session holds for a destination at one position.
type pending struct {
	host, session string
	runs          []prepared
	// builder is nil if nothing was read; carry is then that of the position.
	builder *otelmap.Builder
	carry   otelmap.Carry
	// size is the offset where reading ended.
	size int64
	// gone are the ids of the runs that the user has deleted.
	gone map[string]bool
	// late is how many of runs, the first ones, are of late events.
	late int
	// known are the ids of all runs that were read, sent or not.
	known map[string]bool
	// missed are the offsets of the new events of runs before the position, by the first id of
	// the run's turn.
	missed map[string][]int64
	// lost reports that missed is not complete, because the index is damaged.
	lost bool
	// settling is how long an ended run that is not among runs must still settle.
	settling time.Duration
	// agents reports that only subagents keep a run open.
	agents bool
	// finished reports that the session has ended.
	finished bool
	// more reports that the log continues behind size.
	more bool
}

// boundary returns the position from which to read after the runs for which done
// returns true were sent.
func (p *pending) boundary(done func(otelmap.RunID) bool) (int64, otelmap.Carry) {
	if p.builder == nil {
		return p.size, p.carry
	}
	return p.builder.Boundary(done, p.size)
}

// prepared is an ended run, or several that are sent as one.
type prepared struct {
	ids []otelmap.RunID
	Ref
	// joined are the further runs that it holds.
	joined []Ref
	// settings are those of its events. elsewhere reports that one of them may not go
	// where this process sends; settings are then those of that event.
	settings  string
	elsewhere bool
	// host is the session's. less are the captures of destinations under which events of the
	// run were recorded.
	host string
	less map[string]otelmap.Capture
	// late is the offset from which the run's events are late, zero for a run as a whole.
	late int64
	// until is the offset of its newest event, zero for a run as a whole.
	until int64
	// fresh is nil unless the run is late: it maps the new spans alone, and spans also those
	// that have changed.
	fresh func() *tracepb.ResourceSpans
	// spans maps the run, the root first.
	spans func() *tracepb.ResourceSpans
	// batches does so in batches of at most size spans. It is nil unless the run is
	// so long that it should not be in memory as a whole.
	batches func(size int) iter.Seq[[]*tracepb.ResourceSpans]
}

// defaultWindow is how much of a log is read at once. Memory depends on it, and
// on the longest run.
const defaultWindow = 4 << 20

// MemoryLimit is the memory limit for the Go runtime, in bytes, in a process that
// delivers: enough for a run of 10^5 events. If more than longRun bytes of a log are read
// at once, more may be needed.
const (
	MemoryLimit = 70 << 20
	longRun     = 256 << 20
)

// prepare reads a session from a position and maps the ended runs that the
// destination does not have. Unless whole is set, it stops behind the first part of
// the log in which such runs have ended.
func (d *Deliverer) prepare(ctx context.Context, s *spool.Session, st *State, whole bool) (*pending, error) {
	key := s.Key()
	if _, ok := d.Sources[key.Host]; !ok {
		return nil, fmt.Errorf("session %s: no reader for host %q in this hookspan: upgrade it", key.Name, key.Host)
	}
	r, err := s.Reader(st.Offset)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()

	p := d.reading(key, st)
	p.whole = whole
	x := st.index(s)
	defer x.close()
	p.recall = x.recall
	if p.forgotten, err = forgotten(s); err != nil {
		return nil, err
	}
	// At least what was read before: an event in it is no longer new.
	for window := max(cmp.Or(d.Window, defaultWindow), st.Read-st.Offset); ; window *= 2 {
		if whole {
			window = math.MaxInt64
		}
		if p.seen, err = s.Size(); err != nil {
			return nil, fmt.Errorf("session %s: %w", key.Name, err)
		}
		if err := p.read(r, window); err != nil {
			return nil, err
		}
		if d.LongRun != nil && p.size-st.Offset > longRun {
			d.LongRun()
		}
		if err := r.Err(); err != nil {
			return nil, fmt.Errorf("read session %s: %w", key.Name, err)
		}
		if due := p.due(p.at); p.more && len(due) == 0 {
			continue
		}
		if p.builder != nil {
			for _, damage := range r.Damage() {
				p.builder.Lose(damage.Offset)
			}
			for _, at := range r.Unknown() {
				p.builder.Lose(at)
			}
		}
		if err := p.mapRuns(ctx, s); err != nil {
			return nil, err
		}
		// The host's files may have shown that a run has not ended.
		if !p.more || len(p.runs) > 0 {
			break
		}
	}
	// Otherwise a position could be behind what a power cut leaves of the log, and
	// the log would grow past it again.
	if d.SyncLog {
		if err := s.Sync(); err != nil {
			return nil, fmt.Errorf("sync session %s: %w", key.Name, err)
		}
	}
	if damage := r.Damage(); len(damage) > 0 {
		if err := s.Quarantine(damage); err != nil {
			d.logf("session %s: quarantine: %v", key.Name, err)
		}
		d.logf("session %s: %d damaged places, first at %d: %s", key.Name, len(damage), damage[0].Offset, damage[0].Reason)
	}
	return p.pending, nil
}
