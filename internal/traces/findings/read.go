package findings

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
)

// Found are the findings in tasks, the kinds in their order and of a kind the newest first.
type Found struct {
	// Tasks counts those that were looked at.
	Tasks    int
	Findings []view.Finding
	// Gone are those of the period before of which this one has none.
	Gone []view.Finding
}

// Read returns the findings in the stored tasks that a filter selects. One session is in memory at a time, and of a project what EditedBy keeps.
func Read(ctx context.Context, s *store.Store, f store.Filter) (out Found, err error) {
	sessions, err := s.Group(ctx, f, store.BySession, nil)
	if err != nil {
		return out, err
	}
	known, pending := make(map[string]*Edited), make(map[string][]Edited)
	for i := range sessions {
		out.Tasks += sessions[i].Traces
		of := f
		of.Session, of.Whole, of.Limit = sessions[i].Key, true, -1
		whole := of
		if of.Session != "" {
			whole = store.Filter{Session: of.Session, Whole: true}
		}
		own, last, err := readSession(ctx, s, whole, known)
		if err != nil {
			return out, err
		}
		if len(own)+len(last) == 0 {
			continue
		}
		selected := make(map[string]bool)
		tasks, err := s.List(ctx, of)
		if err != nil {
			return out, err
		}
		for j := range tasks {
			selected[tasks[j].TraceID] = true
		}
		out.Findings = append(out.Findings, slices.DeleteFunc(own, func(f view.Finding) bool { return !selected[f.Trace] })...)
		for _, p := range last {
			if selected[p.Last[0].call.Trace] {
				pending[p.Directory] = append(pending[p.Directory], p)
			}
		}
	}
	for directory, of := range pending {
		more, err := unchecked(ctx, s, directory, of, known)
		if err != nil {
			return out, err
		}
		out.Findings = append(out.Findings, more...)
	}
	sortFindings(out.Findings)
	slices.SortStableFunc(out.Findings, func(x, y view.Finding) int { return cmp.Compare(place(x.Kind), place(y.Kind)) })
	return out, nil
}

// place is that of a kind in Kinds.
func place(kind string) int {
	return slices.IndexFunc(Kinds[:], func(k Kind) bool { return k.Name == kind })
}

// readSession returns what is found in a session, or in the tasks of a filter that are in none. It adds to known what is kept of each task.
func readSession(ctx context.Context, s *store.Store, f store.Filter, known map[string]*Edited) (found []view.Finding, pending []Edited, err error) {
	hosts := make(map[string][]*store.Work)
	look := func(works []*store.Work) {
		slices.SortStableFunc(works, func(x, y *store.Work) int { return x.Summary.Started.Compare(y.Summary.Started) })
		one := newSession(works)
		found = append(found, one.found()...)
		for i, e := range one.edited() {
			if len(e.Last) > 0 {
				pending = append(pending, e)
			}
			e.Last, e.Ran = nil, nil
			known[works[i].Summary.TraceID] = &e
		}
	}
	err = s.EachWhole(ctx, f, func(w *store.Work) error {
		if f.Session == "" {
			look([]*store.Work{w})
			return nil
		}
		hosts[w.Summary.Host] = append(hosts[w.Summary.Host], w)
		return nil
	})
	for _, works := range hosts {
		look(works)
	}
	return found, pending, err
}

// unchecked returns the findings of edits that the project's check did not follow.
func unchecked(ctx context.Context, s *store.Store, directory string, pending []Edited, known map[string]*Edited) (found []view.Finding, err error) {
	slices.SortFunc(pending, func(x, y Edited) int { return x.Started.Compare(y.Started) })
	before := 0
	var others []Edited
	add := func(e *Edited) bool {
		if e != nil && e.Directory == directory && e.After != nil && before < history {
			others = append(others, *e)
			if e.Started.Before(pending[0].Started) {
				before++
			}
		}
		return e != nil
	}
	f := store.Filter{Directory: directory, Until: pending[len(pending)-1].Started.Add(time.Nanosecond)}
	err = s.EachOther(ctx, f, func(t *store.Summary) bool { return add(known[t.TraceID]) }, func(w *store.Work) error {
		if before == history {
			return store.ErrEnough
		}
		e := EditedBy(w)
		add(&e)
		return nil
	})
	if err != nil && !errors.Is(err, store.ErrEnough) {
		return nil, err
	}
	for i := range pending {
		if f, ok := pending[i].Unchecked(others); ok {
			found = append(found, f)
		}
	}
	return found, nil
}

// Compare is Read with the period before, of the same length: findings say whether they are new.
// Without a beginning there is none.
func Compare(ctx context.Context, s *store.Store, f store.Filter, now time.Time) (Found, error) {
	out, err := Read(ctx, s, f)
	if err != nil || f.Since.IsZero() {
		return out, err
	}
	until := now
	if !f.Until.IsZero() && f.Until.Before(now) {
		until = f.Until
	}
	f.Since, f.Until = f.Since.Add(f.Since.Sub(until)), f.Since
	before, err := Read(ctx, s, f)
	key := func(f *view.Finding) [3]string { return [3]string{f.Kind, f.Directory, f.Subject} }
	was, is := make(map[[3]string]bool), make(map[[3]string]bool)
	for i := range before.Findings {
		was[key(&before.Findings[i])] = true
	}
	for i := range out.Findings {
		one := &out.Findings[i]
		is[key(one)], one.New = true, !was[key(one)]
	}
	out.Gone = slices.DeleteFunc(before.Findings, func(f view.Finding) bool { return is[key(&f)] })
	return out, err
}
