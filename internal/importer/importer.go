package importer

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/transcript"
	"github.com/hookspan/hookspan/otelmap"
)

// Session is one of the agent's sessions on this machine.
type Session struct {
	transcript.Session
	// Read reads the session's files. With an error the session is not imported.
	Read func(ctx context.Context) (*hook.Transcript, error)
}

// Known is what is stored on this machine. Its methods may be called from several
// goroutines.
type Known interface {
	// Conversations returns the roots of some sessions' runs.
	Conversations(ctx context.Context, sessions ...string) ([]store.Root, error)
	// Beside returns the roots of the runs in a place and time.
	Beside(ctx context.Context, p store.Place) ([]store.Root, error)
	// Requests returns the keys of all requests that are stored, and of removed ones.
	Requests(ctx context.Context) (stored, removed store.RequestKeys, err error)
	// Imports returns what NoteImports recorded for an agent, as far as it still
	// holds.
	Imports(ctx context.Context, host string) ([]store.Import, error)
	// NoteImports records sessions whose runs are all known.
	NoteImports(ctx context.Context, imports []store.Import) error
	// Reading returns what NoteReading recorded of an agent's files for a reader and a
	// version of the program.
	Reading(ctx context.Context, host, reader, version string) (notes string, err error)
	NoteReading(ctx context.Context, host, reader, version, notes string) error
	// Settle notes that a destination has answered for traces.
	Settle(ctx context.Context, destination string, traces []string) error
}

// Importer sends the runs of the past.
type Importer struct {
	// Agent is the agent whose sessions are imported.
	Agent transcript.Reader
	// Deliverer provides mapping, redaction, destinations, spool and clock. The
	// local store gets a run first, and if its client is a store.Owing it notes that the
	// others are owed it.
	Deliverer *deliver.Deliverer
	// Owed sends what earlier imports have left over and returns what it did for some
	// destinations, by name. If nil, nothing is left over.
	Owed func(ctx context.Context) ([]deliver.Result, error)
	// Known is the local store. If nil, nothing is known, and each import sends
	// everything.
	Known Known
	// Version is hookspan's. Files that another version has imported are read
	// again.
	Version string
	// Off reports that recording is switched off for a directory, which is empty if it is
	// not known. It may be called from several goroutines. If nil, it is on for all.
	Off func(dir string) bool
	// Since leaves out what ended before it; if zero, nothing.
	Since time.Time
	// Again imports what the local store had and has removed.
	Again bool
	// Retention is how long the local store keeps a trace; if zero, for ever.
	Retention time.Duration
	// DryRun sends nothing.
	DryRun bool
	// Observe is called for each session that was read, with what was left out of it, and
	// again with runs that are sent. It may be nil.
	Observe func(session string, skipped Skipped, runs []*tracepb.ResourceSpans)
	// Limits gets what the files say of the user's plan, unless DryRun is set. It may be nil.
	Limits func(host string, all []hook.Limit)
	// Progress is called after each session; it may be nil.
	Progress func()

	offDirs sync.Map // what Off returned
}

// Run imports the sessions in their order. Problems of a session or a destination
// are in the report; the error is about the store, the spool or ctx, and ends the
// import. The report then covers the sessions before it.
func (im *Importer) Run(ctx context.Context, sessions []Session) (rep *Report, err error) {
	rep = newReport(im.Agent.Host, im.DryRun, im.Deliverer.Destinations)
	past, err := im.past(ctx)
	if err != nil {
		return rep, err
	}
	q := queue{im: im, rep: rep}
	if im.Owed != nil && !im.DryRun {
		owed, err := im.Owed(ctx)
		rep.owed(owed)
		if err != nil {
			return rep, err
		}
	}
	keys := im.keys(ctx)
	var limits []hook.Limit
	defer func() {
		if len(limits) > 0 && im.Limits != nil && !im.DryRun {
			im.Limits(im.Agent.Host, limits)
		}
	}()
	for part := range withoutRepeats(sessions) {
		near := neighbours{known: im.Known, now: im.Deliverer.Now, sessions: part, roots: make(map[string][]store.Root), keys: keys}
		for f := range ahead(part, func(i int) *findings { return im.read(ctx, &near, i, past) }) {
			limits = append(limits, f.limits...)
			if err = q.add(ctx, f); err != nil {
				break
			}
			if im.Progress != nil {
				im.Progress()
			}
		}
		if err = errors.Join(err, q.finish(ctx)); err != nil {
			return rep, err
		}
	}
	rep.KeptUntil = im.keptUntil(rep)
	return rep, ctx.Err()
}

// withoutRepeats cuts the sessions into parts, none of which has an id twice: what
// is known of a session includes what the files of that id have given before.
func withoutRepeats(sessions []Session) iter.Seq[[]Session] {
	return func(yield func([]Session) bool) {
		ids := make(map[string]bool)
		begin := 0
		for i := range sessions {
			if ids[sessions[i].ID] {
				if !yield(sessions[begin:i]) {
					return
				}
				begin = i
				clear(ids)
			}
			ids[sessions[i].ID] = true
		}
		yield(sessions[begin:])
	}
}

// ahead calls f for each session and yields the results in order. It calls f in
// about as many goroutines as there are processors, and they are not further ahead.
func ahead[T any](sessions []Session, f func(i int) T) iter.Seq[T] {
	return func(yield func(T) bool) {
		results := make(chan chan T, runtime.GOMAXPROCS(0))
		stop := make(chan struct{})
		var wg sync.WaitGroup
		defer wg.Wait()
		defer close(stop)
		wg.Go(func() {
			defer close(results)
			for i := range sessions {
				result := make(chan T, 1)
				select {
				case results <- result:
					wg.Go(func() { result <- f(i) })
				case <-stop:
					return
				}
			}
		})
		for result := range results {
			if !yield(<-result) {
				return
			}
		}
	}
}

// keptUntil is when the local store may remove what was imported into it; zero
// if it never does, or if nothing was.
func (im *Importer) keptUntil(rep *Report) time.Time {
	stored := slices.ContainsFunc(im.Deliverer.Destinations, func(d deliver.Destination) bool { return d.Name == storeName })
	took := im.DryRun || slices.ContainsFunc(rep.Destinations, func(d Delivered) bool { return d.Destination == storeName && d.Runs > 0 })
	if im.Retention <= 0 || rep.Runs == 0 || !stored || !took {
		return time.Time{}
	}
	return im.Deliverer.Now().Add(im.Retention)
}

// findings are what a session's files hold.
type findings struct {
	session *Session
	// read reports that the files were read, unchanged that they need not be.
	read, unchanged bool
	skipped         Skipped
	// runs are to be imported, all at once if joint. Those of a long session are mapped
	// when they are sent.
	runs  []func() *tracepb.ResourceSpans
	joint bool
	// note, if not nil, is recorded when the runs are stored.
	note *store.Import
	// logged reports that runs were skipped that only the session's log has.
	logged bool
	// limits are what the files say of the plan.
	limits []hook.Limit
	// unreadable is why the session could not be read, err what ends the import.
	unreadable, err error
}

// read finds the runs of one session. It changes nothing and may be called from
// several goroutines.
func (im *Importer) read(ctx context.Context, near *neighbours, i int, past map[fileKey]store.Import) *findings {
	s := &near.sessions[i]
	f := &findings{session: s}
	if f.err = ctx.Err(); f.err != nil || s.ModTime.Before(im.Since) {
		return f
	}
	if im.off(s.Cwd) {
		f.skipped.SwitchedOff++
		return f
	}
	// The stamp comes before the reading: what is written meanwhile changes it.
	note := im.stamp(s)
	if old, ok := past[fileKey{s.ID, s.Dialect}]; ok && note != nil && old.Stamp == note.Stamp && !(im.Again && old.Removed > 0) {
		if im.off(old.Directory) {
			f.skipped.SwitchedOff++
			return f
		}
		f.unchanged = true
		f.skipped = Skipped{AlreadyThere: old.There, Captured: old.Captured, Removed: old.Removed}
		return f
	}
	tr, err := s.Read(ctx)
	switch {
	case ctx.Err() != nil:
		f.err = ctx.Err()
		return f
	case err != nil || tr == nil:
		f.unreadable = cmp.Or(err, errors.New("nothing was read"))
		return f
	}
	f.read = true
	tr.Cwd = cmp.Or(tr.Cwd, s.Cwd)
	tr.Session = s.ID
	events := im.events(s, tr)
	f.skipped.SwitchedOff = events.left
	if events.none {
		return f
	}
	f.limits = tr.Limits
	f.skipped.Inherited, f.skipped.Damaged = tr.Inherited, tr.Damaged
	f.unreadable, f.err = im.runs(ctx, f, tr, events.list, near, i)
	if skip := f.skipped; note != nil && skip.Open+skip.TooOld+skip.SwitchedOff == 0 && !f.logged && !im.DryRun {
		note.Directory = tr.Cwd
		note.There, note.Captured, note.Removed = skip.AlreadyThere+len(f.runs), skip.Captured, skip.Removed
		f.note = note
	}
	return f
}

// builder returns a builder with the events of a session's transcript.
func (im *Importer) builder(s *Session, tr *hook.Transcript, events iter.Seq[hook.Event]) (b *otelmap.Builder, m deliver.Memory, err error) {
	o := im.Deliverer.Map
	if im.Deliverer.Memory != nil {
		if m, err = im.Deliverer.Memory(nil); err != nil {
			return nil, nil, err
		}
	}
	if m != nil {
		o.Clean = m.Clean
	}
	o.Agent, o.FromFiles = im.Deliverer.Sources[im.Agent.Host].Agent, true
	b = otelmap.NewBuilder(im.Agent.Host, s.ID, o, otelmap.Carry{})
	if tr.OriginTurn != "" {
		b.LinkTo(tr.Origin, tr.OriginTurn, "")
	}
	for e := range events {
		if m != nil {
			m.At(e.Offset)
		}
		b.Add(e)
	}
	return b, m, nil
}

// recorded are the events of a session that hooks would have recorded: not those in the
// directories of projects that switch recording off.
type recorded struct {
	list iter.Seq[hook.Event]
	// left is 1 for a session of which events are left out, none reports that all are.
	left int
	none bool
}

// events returns the events of a session that are to be imported, and takes the texts and
// requests of the others out of the transcript.
func (im *Importer) events(s *Session, tr *hook.Transcript) recorded {
	if len(tr.Moves) == 0 && im.off(tr.Cwd) || slices.ContainsFunc(tr.Folders, im.off) {
		return recorded{left: 1, none: true}
	}
	all := im.Agent.Events(s.Dialect, tr)
	if !slices.ContainsFunc(tr.Moves, func(m hook.Move) bool { return im.off(m.Cwd) }) {
		return recorded{list: all}
	}
	list := slices.DeleteFunc(slices.Collect(all), func(e hook.Event) bool { return im.off(e.Cwd) })
	tr.Leave(im.off)
	return recorded{slices.Values(list), 1, len(list) == 0}
}

// mappedOnce is the largest number of a session's runs that are all in memory at once.
const mappedOnce = 64

func (im *Importer) off(dir string) bool {
	if im.Off == nil {
		return false
	}
	off, ok := im.offDirs.Load(dir)
	if !ok {
		off, _ = im.offDirs.LoadOrStore(dir, im.Off(dir))
	}
	return off.(bool)
}

// runs finds those of the runs of the session with an index that are to be imported. Of a
// run that another session has in part the rest is.
func (im *Importer) runs(ctx context.Context, f *findings, tr *hook.Transcript, events iter.Seq[hook.Event], near *neighbours, i int) (unreadable, err error) {
	before := f.skipped
	copies, unreadable, err := im.newRuns(ctx, f, tr, events, near, i)
	if len(copies) == 0 || unreadable != nil || err != nil {
		return unreadable, err
	}
	f.runs, f.logged, f.skipped = nil, false, before
	f.skipped.Inherited += len(copies)
	rest := without(tr, copies)
	_, unreadable, err = im.newRuns(ctx, f, rest, im.events(f.session, rest).list, near, i)
	return unreadable, err
}

// newRuns finds the runs. copies are the requests that other sessions have of these.
func (im *Importer) newRuns(ctx context.Context, f *findings, tr *hook.Transcript, events iter.Seq[hook.Event], near *neighbours, i int) (copies []request, unreadable, err error) {
	now := im.Deliverer.Now()
	b, memory, err := im.builder(f.session, tr, events)
	if err != nil {
		return nil, nil, err
	}
	runs := b.Runs(now)
	if len(runs) == 0 {
		return nil, nil, nil
	}
	ours := make(map[string]bool, len(runs))
	for _, r := range runs {
		trace, _ := b.Root(r)
		ours[trace] = true
	}
	seen, err := im.seen(ctx, f.session, ours, tr, func() ([]store.Root, error) { return near.of(ctx, i) })
	if err != nil {
		return nil, nil, err
	}
	if seen.err != nil {
		return nil, seen.err, nil
	}
	// A destination that takes a session as one waits for its end.
	f.joint = slices.ContainsFunc(im.Deliverer.Destinations, func(d deliver.Destination) bool { return d.Join != nil })
	finished := b.Finished(now)
	idle := cmp.Or(im.Deliverer.Map.IdleTimeout, otelmap.DefaultIdleTimeout)
	skipped := [...]*int{isStored: &f.skipped.AlreadyThere, isCaptured: &f.skipped.Captured, isLogged: &f.skipped.Captured, isRemoved: &f.skipped.Removed}
	for i, r := range runs {
		last := i == len(runs)-1
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		if r.EndedAt.Before(im.Since) {
			f.skipped.TooOld++
			continue
		}
		// Hooks may have reported the end of a run that the files call open.
		open := !r.Ended || f.joint && !finished || last && tr.Pending && !hook.Elapsed(now, r.EndedAt, idle)
		if memory != nil {
			memory.At(r.Last)
		}
		root, whole := rootOf(b, r, tr, len(runs) > mappedOnce)
		why := seen.original(b, r, tr)
		if why == isNew {
			var some []request
			if why, some, err = seen.judge(ctx, near, root, whole, r.EndedAt); err != nil {
				return nil, nil, err
			}
			copies = append(copies, some...)
		}
		if open && (why == isNew || why == isLogged) {
			f.skipped.Open++
			continue
		}
		if n := skipped[why]; n != nil {
			*n++
			f.logged = f.logged || why == isLogged
			continue
		}
		seen.add(root)
		clean := func(mapped func() *tracepb.ResourceSpans) *tracepb.ResourceSpans {
			marked := func() *tracepb.ResourceSpans {
				run := mapped()
				markImported(run)
				return run
			}
			if im.DryRun {
				return marked()
			}
			return im.Deliverer.Mapped(memory, r, marked)
		}
		if len(runs) > mappedOnce {
			f.runs = append(f.runs, func() *tracepb.ResourceSpans {
				defer b.Release(r, tr)
				return clean(whole)
			})
			continue
		}
		run := clean(whole)
		f.runs = append(f.runs, func() *tracepb.ResourceSpans { return run })
	}
	return copies, nil, nil
}

// rootOf returns the root of a run and a function that returns all its spans. Those of one of many
// runs are made when it is called: most runs are known or new by their roots.
func rootOf(b *otelmap.Builder, r *otelmap.Run, tr *hook.Transcript, many bool) (root *tracepb.Span, whole func() *tracepb.ResourceSpans) {
	batches, size := b.Batches(r, tr), math.MaxInt
	if many {
		size = 1
	}
	for some := range batches(size) {
		root, whole = some.GetScopeSpans()[0].GetSpans()[0], func() *tracepb.ResourceSpans { return some }
		break
	}
	if many {
		whole = func() *tracepb.ResourceSpans { return b.Spans(r, tr) }
	}
	return root, whole
}
