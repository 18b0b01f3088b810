package deliver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/spool"
)

// Waiting returns the tasks that a destination gets from the spool later, as otlp.TaskID names
// them whether or not their trace came from outside: the ended runs that it has not answered for, and those that it rejected.
// Without keys it looks at all sessions.
func (d *Deliverer) Waiting(ctx context.Context, dst *Destination, keys ...spool.Key) (map[string]bool, error) {
	keys, err := d.sessions(keys)
	if err != nil {
		return nil, err
	}
	waiting := make(map[string]bool)
	for _, k := range keys {
		err := d.visit(k, func(s *spool.Session) error {
			st, size, err := currentPosition(s, dst.Name)
			if err != nil {
				return err
			}
			for _, p := range st.Parked {
				for _, ref := range p.refs() {
					waiting[otlp.TaskID(ref.Trace, k.Name)] = true
				}
			}
			for more := size > st.Offset; more; {
				out, err := d.prepareSettled(ctx, s, st, dst.Join != nil)
				if err != nil {
					return err
				}
				for _, r := range out.runs {
					if !r.elsewhere {
						waiting[otlp.TaskID(r.Trace, k.Name)] = true
					}
				}
				st.answered(out.runs)
				st.advance(out)
				more = out.more
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return waiting, nil
}

// visit calls f with a session. A session that is gone is no error.
func (d *Deliverer) visit(k spool.Key, f func(*spool.Session) error) error {
	s, err := d.Spool.Session(k)
	if err == nil {
		err = errors.Join(guarded(k, func() error { return f(s) }), s.Close())
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// settleWithin bounds the wait for a session in which one run after another ends, or whose
// log grows behind an end that is undecided.
const settleWithin = undecided

// prepareSettled is prepare after the last run has settled: before that it returns no
// run.
func (d *Deliverer) prepareSettled(ctx context.Context, s *spool.Session, st *State, whole bool) (out *pending, err error) {
	for slept := time.Duration(0); slept < settleWithin; slept += out.settling {
		if out, err = d.prepare(ctx, s, st, whole); err != nil || out.settling == 0 {
			break
		}
		if err := d.Sleep(ctx, out.settling); err != nil {
			return nil, err
		}
	}
	return out, err
}

// currentPosition is readPosition with the beginning of a log that was cut or
// replaced.
func currentPosition(s *spool.Session, destination string) (*State, int64, error) {
	st, size, follows, err := readPosition(s, destination)
	if err == nil && !follows {
		st.restart()
	}
	return st, size, err
}

// refs are all runs of a rejected request.
func (p *Parked) refs() []Ref { return append([]Ref{p.Ref}, p.Joined...) }

// Forgotten is what Forget removed from the spool.
type Forgotten struct {
	// Waiting counts the traces that no longer wait for a destination, once for each
	// destination.
	Waiting int
	// Logs counts the logs that were removed, Kept those that stay and may hold events
	// of the traces.
	Logs, Kept int
}

// forgetWait bounds the wait for another process that delivers the session.
const forgetWait = 10 * time.Second

// Forget makes traces that were deleted from the local store wait for no destination
// any more: the runs whose roots were stored, and those that have ended in the log. Later runs
// in the same trace are delivered. sessions are those of the traces; true means that none of the session's
// traces is left in the store. Such a session's log is removed if it has ended and
// every destination has the rest.
func (d *Deliverer) Forget(ctx context.Context, sessions map[spool.Key]bool, traces map[string]bool) (out Forgotten, err error) {
	for k, none := range sessions {
		err := d.visit(k, func(s *spool.Session) error {
			n, err := d.forget(ctx, s, traces)
			out.Waiting += n
			if err != nil {
				return err
			}
			gone := false
			if none {
				gone, err = d.removeEnded(s)
			}
			if gone {
				out.Logs++
			} else {
				out.Kept++
			}
			return err
		})
		if err != nil {
			return out, fmt.Errorf("session %s: %w", k, err)
		}
	}
	return out, nil
}

// forgottenFile names the runs of a session that were deleted. They go to no
// destination, also to one that this process is not set up for.
const forgottenFile = "forgotten.json"

type forgottenRuns struct {
	Version int             `json:"v"`
	Roots   map[string]bool `json:"roots"`
}

// forgotten returns the roots of the runs of a session that were deleted.
func forgotten(s *spool.Session) (map[string]bool, error) {
	b, err := s.ReadFile(forgottenFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var f forgottenRuns
	if err == nil {
		err = json.Unmarshal(b, &f)
	}
	if err != nil {
		return nil, fmt.Errorf("read the deleted traces of session %s: %w", s.Key(), err)
	}
	return f.Roots, nil
}

func noteForgotten(s *spool.Session, roots map[string]bool) error {
	all, err := forgotten(s)
	if err != nil {
		return err
	}
	roots = maps.Clone(roots)
	maps.Copy(roots, all)
	b, err := json.Marshal(forgottenRuns{1, roots})
	if err != nil {
		return err
	}
	return s.WriteFile(forgottenFile, b)
}

// endedIn returns the roots of the runs of traces that have ended in the log.
func (d *Deliverer) endedIn(ctx context.Context, s *spool.Session, traces map[string]bool) (map[string]bool, error) {
	roots, start := make(map[string]bool), Place{}
	of := func(trace string) bool { return traces[trace] || traces[otlp.TaskID(trace, s.Key().Name)] }
	for _, name := range d.names() {
		st, err := ReadState(s, name)
		if err != nil {
			return nil, err
		}
		if st.Start != nil {
			start = st.start()
		}
		for _, p := range st.Parked {
			for _, ref := range p.refs() {
				if of(ref.Trace) {
					roots[ref.Root] = true
				}
			}
		}
	}
	all, err := d.reading(s.Key(), &State{}).reread(ctx, s, start.all(), math.MaxInt64)
	if err != nil || all.builder == nil {
		return roots, err
	}
	for _, r := range all.builder.Runs(d.Now()) {
		if trace, root := all.builder.Root(r); r.Ended && of(trace) {
			roots[root] = true
		}
	}
	return roots, nil
}

// forget answers in the place of every destination for the runs that wait for it.
func (d *Deliverer) forget(ctx context.Context, s *spool.Session, traces map[string]bool) (n int, err error) {
	roots, err := d.endedIn(ctx, s, traces)
	if err != nil {
		return 0, err
	}
	for _, root := range d.Stored[s.Key()] {
		roots[root] = true
	}
	for _, name := range d.names() {
		if st, err := d.owed(s, name); err != nil || st == nil {
			if err != nil {
				return n, err
			}
			continue
		}
		within, cancel := context.WithTimeout(ctx, forgetWait)
		unlock, err := s.Lock(within, name)
		cancel()
		if err != nil {
			return n, fmt.Errorf("another process delivers it to %s: %w", name, err)
		}
		forgotten, err := d.forgetFor(ctx, s, name, roots)
		n += forgotten
		if err = errors.Join(err, unlock()); err != nil {
			return n, err
		}
	}
	return n, noteForgotten(s, roots)
}

func (d *Deliverer) forgetFor(ctx context.Context, s *spool.Session, name string, roots map[string]bool) (n int, err error) {
	st, size, err := currentPosition(s, name)
	if err != nil {
		return 0, err
	}
	var parked []Parked
	for _, p := range st.Parked {
		refs := p.refs()
		left := slices.DeleteFunc(slices.Clone(refs), func(r Ref) bool { return roots[r.Root] })
		n += len(refs) - len(left)
		if len(left) > 0 {
			p.Ref, p.Joined = left[0], left[1:]
			parked = append(parked, p)
		}
	}
	st.Parked = parked
	if size > st.Offset {
		out, err := d.prepareSettled(ctx, s, st, true)
		if err != nil {
			return 0, err
		}
		for i, r := range out.runs {
			if roots[r.Root] {
				st.answered(out.runs[i : i+1])
				n++
			}
		}
		if n > 0 {
			st.Host, st.Session = out.host, out.session
			st.advance(out)
		}
	}
	if n == 0 {
		return 0, nil
	}
	return n, st.write(s, name)
}

// removeEnded removes the log of a session that has ended, if every destination has
// all of it, and reports whether it did.
func (d *Deliverer) removeEnded(s *spool.Session) (bool, error) {
	st, err := d.inspect(s.Key(), d.Now())
	if err != nil || !st.delivered || st.parked || d.surelyOpen(s, 0, st.size) {
		return false, err
	}
	c, err := d.count(s.Key(), nil)
	if err != nil || c.newer > 0 || c.lacks != "" {
		return false, err
	}
	return d.remove(st, false)
}
