package verify

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/verify/agentfiles"
)

// Session is what the comparison of a session found.
type Session struct {
	Session string `json:"session"`
	// NoTrace reports that the store has no trace of it.
	NoTrace     bool         `json:"noTrace,omitempty"`
	Differences []Difference `json:"differences"`
}

// Check holds an agent's traces against a second reading of its files.
type Check struct {
	Host  string
	Files *agentfiles.Reading
	Store *store.Store
	// Sums are those that were read from the store, or from what is sent to it.
	Sums map[string]*Sums
	// Cut reports that the store has lost what is before the first trace of a session.
	Cut func(ctx context.Context, session string) (bool, error)
	Now time.Time
	// Off reports that a folder's project switches recording off. If nil, none does.
	Off func(dir string) bool
	// Clean removes secrets from prompts, as it did from the traces. If nil, nothing does.
	Clean func(string) string
	// Some are the sessions of which the store is asked what it has, nil for all.
	Some map[string]bool
	// Private counts requests that are not compared since they are of folders that are Off.
	Private int
	// Gone are the sessions with traces, not compared since the files say nothing of them.
	Gone []string
	// offs are what Off has reported.
	offs map[string]bool
	// settled reports that each thing in the files is of one session.
	settled bool
}

// openAge is how long after its last row a session may have a turn that has not ended,
// whose rows then do not count.
const openAge = time.Hour

// Sessions compares sessions, and returns those with a difference.
func (c *Check) Sessions(ctx context.Context, ids []string) (differ []Session, err error) {
	if err := c.settle(ctx); err != nil {
		return nil, err
	}
	for _, id := range ids {
		sums, err := c.sums(ctx, id)
		if err != nil {
			return nil, err
		}
		files, err := c.part(ctx, id, sums)
		switch {
		case err != nil:
			return nil, err
		case files == nil && c.Files.Sessions[id] == nil && !sums.empty():
			c.Gone = append(c.Gone, id)
		case files != nil:
			if d := sums.differences(c.Host, files, c.Clean); len(d) > 0 {
				differ = append(differ, Session{id, sums.empty(), d})
			}
		}
	}
	return differ, nil
}

// Untraced lists the sessions with work in the files that are not known and have no trace.
func (c *Check) Untraced(ctx context.Context, known func(id string) bool) (untraced []Session, err error) {
	if err := c.settle(ctx); err != nil {
		return nil, err
	}
	for _, id := range slices.Sorted(maps.Keys(c.Files.Sessions)) {
		s := c.Files.Sessions[id]
		if known(id) || len(s.Requests)+len(s.Calls)+len(s.Prompts) == 0 {
			continue
		}
		sums, err := c.sums(ctx, id)
		if err != nil {
			return nil, err
		}
		if d := sums.differences(c.Host, s, c.Clean); sums.empty() && len(d) > 0 {
			untraced = append(untraced, Session{id, true, d})
		}
	}
	return untraced, nil
}

// sums returns what the store has of a session.
func (c *Check) sums(ctx context.Context, id string) (*Sums, error) {
	if s := c.Sums[id]; s != nil {
		return s, nil
	}
	s := &Sums{only: id}
	roots, err := c.Store.Conversations(ctx, id)
	if err != nil {
		return nil, err
	}
	seen := make(map[string]bool)
	for _, r := range roots {
		if r.Removed || seen[r.Trace] {
			continue
		}
		seen[r.Trace] = true
		t, err := c.Store.Trace(ctx, r.Trace)
		switch {
		case errors.Is(err, store.ErrNotFound): // it was removed meanwhile
		case err != nil:
			return nil, err
		case t.Host == c.Host:
			s.Add(t.ResourceSpans...)
		}
	}
	if c.Sums == nil {
		c.Sums = make(map[string]*Sums)
	}
	c.Sums[id] = s
	return s, nil
}

// settle gives what several sessions' files have to the one in which the store has it.
func (c *Check) settle(ctx context.Context) (err error) {
	if c.settled {
		return nil
	}
	c.settled = true
	has := func(id string, f *agentfiles.Fact) bool {
		s, failed := c.sums(ctx, id)
		err = cmp.Or(err, failed)
		return failed == nil && (s.has(f.ID) || f.ID == "" && s.askedAt(f.At))
	}
	c.Files.Settle(func(first, second string, f *agentfiles.Fact) bool {
		return (c.Some == nil || c.Some[first]) && ctx.Err() == nil && !has(first, f) && has(second, f)
	})
	if err := cmp.Or(err, ctx.Err()); err != nil {
		return err
	}
	for id, s := range c.Files.Sessions {
		if s.Left && len(s.Requests)+len(s.Calls) == 0 && len(c.Sums[id].prompts) == 0 {
			s.Prompts = nil // nothing but copies
		}
	}
	return nil
}

// written is how much later than the hook that ends a run an agent may write its last row.
const written = time.Second

// part returns what the files say of the session, as far as the store should have it.
func (c *Check) part(ctx context.Context, id string, sums *Sums) (*agentfiles.Session, error) {
	s := c.Files.Sessions[id]
	if s == nil {
		return nil, nil
	}
	var from, to time.Time
	if c.Cut != nil {
		cut, err := c.Cut(ctx, id)
		if err != nil || cut && sums.first.IsZero() {
			return nil, err
		}
		if cut {
			from = sums.first.Add(-early)
		}
	}
	if c.Now.Sub(s.Ended) < openAge && !sums.last.IsZero() {
		to = sums.last.Add(written)
	}
	if c.Off != nil {
		s = c.recorded(s, sums)
	}
	if from.IsZero() && to.IsZero() {
		return s, nil
	}
	return s.Without(func(f agentfiles.Fact) bool { return f.At.Before(from) || !to.IsZero() && f.At.After(to) }), nil
}

// recorded returns the session without what was not recorded since its folder is Off. In one
// folder, what there is of a time with a trace was recorded before the switch.
func (c *Check) recorded(s *agentfiles.Session, sums *Sums) *agentfiles.Session {
	if c.offs == nil {
		c.offs = map[string]bool{"": false}
	}
	dirs, offs := s.Dirs(), c.offs
	all := slices.Concat(dirs, sums.dirs)
	for _, dir := range all {
		if _, known := offs[dir]; !known {
			offs[dir] = c.Off(dir)
		}
	}
	if !slices.ContainsFunc(all, func(dir string) bool { return offs[dir] }) {
		return s
	}
	moved := len(dirs) > 1
	// What is left of a turn that began in such a folder has no trace until something begins one.
	headless := func(at time.Time) bool {
		of := func(t *agentfiles.Turn) bool { return offs[t.Dir] && !at.Before(t.At) && !at.After(t.Last) }
		return slices.ContainsFunc(s.Turns, of) && !slices.ContainsFunc(sums.runs, func(r run) bool { return !at.Before(r.start) && !at.After(r.end) })
	}
	left := func(f agentfiles.Fact) bool {
		if !moved {
			return !slices.ContainsFunc(sums.runs, func(r run) bool { return !f.At.Before(r.start.Add(-early)) && !f.At.After(r.end.Add(written)) })
		}
		return (offs[f.Dir] || headless(f.At)) && !sums.has(f.ID) && (f.ID != "" || !sums.askedAt(f.At))
	}
	part := s.Without(left)
	c.Private += len(s.Requests) - len(part.Requests)
	if moved {
		part.Hide(s.Turns, offs)
	}
	return part
}
