package importer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"sort"
	"sync"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/otelmap/step"
	"github.com/hookspan/hookspan/spool"
)

// verdict is why a run is not imported.
type verdict uint8

const (
	isNew verdict = iota
	// isStored is a run that the local store has.
	isStored
	// isCaptured is a run that hooks reported, or are reporting.
	isCaptured
	// isLogged is a run that only the session's log has so far.
	isLogged
	// isRemoved is a run that the local store had until the retention ended.
	isRemoved
)

// fileKey identifies the files of a session of the agent.
type fileKey struct{ session, dialect string }

// past returns what earlier imports recorded.
func (im *Importer) past(ctx context.Context) (map[fileKey]store.Import, error) {
	if im.Known == nil {
		return nil, nil
	}
	imports, err := im.Known.Imports(ctx, im.Agent.Host)
	past := make(map[fileKey]store.Import, len(imports))
	for _, i := range imports {
		past[fileKey{i.Session, i.Dialect}] = i
	}
	return past, err
}

// settled is how old a file's time must be to show that nothing was written since: two
// writes within a few clock ticks give a file the same time.
const settled = 2 * time.Second

// stamp begins a note about a session's files. It is nil if the files have to be
// read each time: their state is not known or too new, or the session's runs may
// be in a trace of another session.
func (im *Importer) stamp(s *Session) *store.Import {
	if im.Known == nil || s.HookPrefix != "" {
		return nil
	}
	state, newest, ok := im.Agent.Stamp(s.Session)
	if !ok || !hook.Elapsed(im.Deliverer.Now(), newest, settled) {
		return nil
	}
	return &store.Import{Session: s.ID, Host: im.Agent.Host, Dialect: s.Dialect, Stamp: im.Version + " " + state}
}

// seen is what is known of a session before its import.
type seen struct {
	known Known
	host  string
	// again imports what the local store has removed.
	again bool
	// prefix is the session's HookPrefix.
	prefix string
	roots  map[string][]store.Root // by their span
	// others are the roots of runs that these files do not have, stored and removed, of the
	// session and of those that have copies of it.
	others []periods
	// err is why the session's log could not be read.
	err error
	// captured is the time of the first event in the logs of these sessions; zero without
	// a log.
	captured time.Time
}

// seen returns what is known of a session. ours are the traces of the runs in its files: if
// two of them overlap in time, as an agent in the background may outlive its turn, they are
// two runs all the same. tr is the session's transcript. own returns the roots of the
// session's runs.
func (im *Importer) seen(ctx context.Context, s *Session, ours map[string]bool, tr *hook.Transcript, own func() ([]store.Root, error)) (*seen, error) {
	out := &seen{
		known: im.Known, host: im.Agent.Host, again: im.Again, roots: make(map[string][]store.Root), prefix: s.HookPrefix,
	}
	if len(tr.CopiedFrom) > 0 && im.Known != nil {
		roots, err := im.Known.Conversations(ctx, tr.CopiedFrom...)
		if err != nil {
			return nil, err
		}
		for _, r := range roots {
			out.roots[r.Span] = append(out.roots[r.Span], r)
		}
	}
	for i, id := range append([]string{s.ID}, tr.CopiedBy...) {
		first, err := im.firstEvent(spool.SessionKey(im.Agent.Host, id))
		if out.err = cmp.Or(out.err, err); !first.IsZero() && (out.captured.IsZero() || first.Before(out.captured)) {
			out.captured = first
		}
		if im.Known == nil {
			continue
		}
		if i > 0 {
			own = func() ([]store.Root, error) { return im.Known.Conversations(ctx, id) }
		}
		roots, err := own()
		if err != nil {
			return nil, err
		}
		var there, gone periods
		for _, r := range roots {
			if id == s.ID {
				out.roots[r.Span] = append(out.roots[r.Span], r)
			}
			switch {
			case id == s.ID && ours[r.Trace]:
			case r.Removed:
				gone.add(r)
			default:
				there.add(r)
			}
		}
		out.others = append(out.others, there, gone)
	}
	return out, nil
}

// neighbours asks for the roots of several sessions at once, which are read soon after one
// another. No two have the same id.
type neighbours struct {
	known    Known
	now      func() time.Time
	sessions []Session
	// keys returns the store's requests.
	keys func() (*requestKeys, error)

	mu sync.Mutex
	// roots are those of the sessions that were asked for then.
	roots map[string][]store.Root
	then  time.Time
}

const (
	// askedAtOnce is how many sessions are asked for at once, without those before the one
	// that is wanted: others may still read these.
	askedAtOnce = 32
	// holds is how long an answer holds: hooks may record more meanwhile.
	holds = 100 * time.Millisecond
)

// of returns the roots of the session with an index.
func (n *neighbours) of(ctx context.Context, i int) (roots []store.Root, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.now()
	if roots, known := n.roots[n.sessions[i].ID]; known && now.Sub(n.then).Abs() < holds {
		return roots, nil
	}
	clear(n.roots)
	n.then = now
	var ids []string
	for _, s := range n.sessions[max(0, i-runtime.GOMAXPROCS(0)):min(i+askedAtOnce, len(n.sessions))] {
		ids = append(ids, s.ID)
		n.roots[s.ID] = nil
	}
	all, err := n.known.Conversations(ctx, ids...)
	if err != nil {
		clear(n.roots)
		return nil, err
	}
	for _, r := range all {
		n.roots[r.Session] = append(n.roots[r.Session], r)
	}
	return n.roots[n.sessions[i].ID], nil
}

// original returns the verdict on a run that is the copy of one of another session.
func (s *seen) original(b *otelmap.Builder, r *otelmap.Run, tr *hook.Transcript) verdict {
	for _, session := range tr.CopiedFrom {
		if v := s.match(s.roots[b.RootIn(session, r)], isStored); v != isNew {
			return v
		}
	}
	return isNew
}

// judge compares a run with what is known: first its root, and only then its other spans. copies
// are the requests that other sessions have of it.
func (s *seen) judge(ctx context.Context, near *neighbours, root *tracepb.Span, run func() *tracepb.ResourceSpans, ended time.Time) (why verdict, copies []request, err error) {
	why, err = s.judgeRoot(ctx, root, ended)
	if why != isNew || err != nil {
		return why, nil, err
	}
	keys, err := near.keys()
	if err != nil {
		return isNew, nil, err
	}
	why, copies = keys.judge(run)
	return why, copies, nil
}

// judgeRoot compares the root of a run with what is known. A root is recognized by its span's id,
// which is the same in whatever trace the run is; a run that hooks reported under
// another id is recognized by its time.
func (s *seen) judgeRoot(ctx context.Context, root *tracepb.Span, ended time.Time) (verdict, error) {
	if v := s.match(s.roots[otlp.SpanID(root)], isStored); v != isNew {
		return v, nil
	}
	for i := range s.others {
		if r := s.others[i].beside(root); r != nil {
			if v := s.match([]store.Root{*r}, isCaptured); v != isNew {
				return v, nil
			}
		}
	}
	if !s.captured.IsZero() && !ended.Before(s.captured) {
		return isLogged, nil
	}
	dir := step.Of(root).Directory()
	if s.prefix == "" || s.known == nil || dir == "" {
		return isNew, nil
	}
	roots, err := s.known.Beside(ctx, store.Place{
		Host: s.host, Directory: dir, Sessions: s.prefix, From: otlp.Start(root), To: otlp.End(root),
	})
	if err != nil {
		return isNew, err
	}
	return s.match(slices.DeleteFunc(roots, func(r store.Root) bool { return !overlap(r, root) }), isCaptured), nil
}

// match returns the verdict on the run that one of the roots is, found if the
// store has it. Roots that the store has come before those it has removed.
func (s *seen) match(roots []store.Root, found verdict) verdict {
	for _, r := range roots {
		switch {
		case r.Removed && s.again:
		case r.Removed:
			return isRemoved
		default:
			return found
		}
	}
	return isNew
}

// add notes a run that is imported. Of two that begin in one millisecond and have
// no id from the host, and hence the same id here, the first counts.
func (s *seen) add(root *tracepb.Span) {
	id := otlp.SpanID(root)
	s.roots[id] = append(s.roots[id], store.Root{Trace: store.TaskID(root), Span: id, Start: otlp.Start(root), End: otlp.End(root)})
}

// periods are roots by their start. latest are the latest ends up to each.
type periods struct {
	roots  []store.Root
	latest []time.Time
}

func (p *periods) add(r store.Root) {
	end := r.End
	if n := len(p.latest); n > 0 && p.latest[n-1].After(end) {
		end = p.latest[n-1]
	}
	p.roots, p.latest = append(p.roots, r), append(p.latest, end)
}

// beside returns a root that overlaps in time with another, or nil.
func (p *periods) beside(root *tracepb.Span) *store.Root {
	start, end := otlp.Start(root), otlp.End(root)
	n := sort.Search(len(p.roots), func(i int) bool { return !p.roots[i].Start.Before(end) && p.roots[i].Start.After(start) })
	for i := n - 1; i >= 0 && (p.latest[i].After(start) || p.roots[i].Start.Equal(start)); i-- {
		if overlap(p.roots[i], root) {
			return &p.roots[i]
		}
	}
	return nil
}

// overlap reports that two runs of one session overlap in time. An agent does one
// thing at a time, so they are the same run; a run that ends in the millisecond in
// which the next begins does not overlap it.
func overlap(r store.Root, root *tracepb.Span) bool {
	start, end := otlp.Start(root), otlp.End(root)
	return r.Start.Equal(start) || r.Start.Before(end) && start.Before(r.End)
}

// firstEvent is the time of the first whole record of a session's log, zero
// without one: the host's time if the event has it, as a hook may be late.
func (im *Importer) firstEvent(key spool.Key) (at time.Time, err error) {
	s, err := im.Deliverer.Spool.Session(key)
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	r, err := s.Reader(0)
	if err != nil {
		return time.Time{}, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if r.Next() {
		at = r.Record().At
		if decode := im.Deliverer.Sources[key.Host].Decode; decode != nil {
			// A record that is not an event counts too.
			events, _ := decode(r.Record())
			for i := range events {
				if t := events[i].At(); !t.IsZero() && t.Before(at) {
					at = t
				}
			}
		}
	}
	if err := r.Err(); err != nil {
		return time.Time{}, fmt.Errorf("read session %s: %w", key, err)
	}
	return at, nil
}
