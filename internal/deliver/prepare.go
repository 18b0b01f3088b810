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
	// settle is how long after a run's end its spans are made: hooks that run
	// in parallel with the last one may still write. If the run's events are
	// complete, only copies of them and remarks can follow: complete is enough for
	// hooks that were started at the same time.
	settle   = time.Second
	complete = 200 * time.Millisecond
	// lateUsage is how long the token count of the last request is awaited, the
	// lead's and each subagent's.
	lateUsage = 2 * time.Second
	// undecided is how long the delivery waits for the decision whether a run may
	// end: the user's hooks may still check it, such as one that runs the tests
	// first. A later refusal makes a separate run.
	undecided = 30 * time.Second
	// poll is the shortest pause between two reads of the host's files.
	poll = 20 * time.Millisecond
	// clockStep is how far in the future an end must be to show that the clock was
	// set back: other processes do not write about it any more.
	clockStep = time.Minute
	// fileLead is how much earlier a host may write something to its files than
	// the hook that reports it runs.
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
	// late are the runs, by id, whose late events are among runs.
	late []string
	// known are the ids of all runs that were read, sent or not.
	known map[string]bool
	// settling is how long the last ended run must still settle.
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

// everyRun is for a boundary behind all runs that have ended.
func everyRun(otelmap.RunID) bool { return true }

// prepared is an ended run, or several that are sent as one.
type prepared struct {
	ids []otelmap.RunID
	Ref
	// joined are the further runs that it holds.
	joined []Ref
	// settings are those that it was recorded under; if elsewhere is set, of an event
	// that may not go where this process sends.
	settings  string
	elsewhere bool
	// fresh is nil unless the run was delivered before some of its events were stored:
	// then it maps the spans that are new, and spans those that have changed, too.
	fresh func() *tracepb.ResourceSpans
	// spans maps it, the root first.
	spans func() *tracepb.ResourceSpans
	// batches does so in batches of at most size spans. It is nil unless the run is
	// so long that it should not be in memory as a whole.
	batches func(size int) iter.Seq[[]*tracepb.ResourceSpans]
}

// defaultWindow is how much of a log is read at once. Memory depends on it, and
// on the longest run.
const defaultWindow = 4 << 20

// MemoryLimit is the memory limit for the Go runtime, in bytes, in a process that
// delivers: enough for the events of a run of 10^5. longRun is the size of the part
// of a log that may need more.
const (
	MemoryLimit = 84 << 20
	longRun     = 256 << 20
)

// prepare reads a session from a position and maps the ended runs that the
// destination does not have. Unless whole is set, it stops behind the first part of
// the log with such runs: those that have ended by the part's last event, as if
// they had been delivered then.
func (d *Deliverer) prepare(ctx context.Context, s *spool.Session, st *State, whole bool) (*pending, error) {
	return d.prepareOnly(ctx, s, st, whole, nil)
}

// prepareOnly is prepare for those runs for whose root only returns true, unless it is
// nil. They need not settle, and no run is late.
func (d *Deliverer) prepareOnly(ctx context.Context, s *spool.Session, st *State, whole bool, only func(root string) bool) (*pending, error) {
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
	p.only = only
	if p.forgotten, err = forgotten(s); err != nil {
		return nil, err
	}
	for window := cmp.Or(d.Window, defaultWindow); ; window *= 2 {
		if whole {
			window = math.MaxInt64
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
			if next, _ := p.boundary(everyRun); only != nil && next > st.Offset {
				break
			}
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
