package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/spool"
)

// Delete deletes traces from the local store, which must be set. It cancels their deliveries
// first: if it is interrupted, the traces are still there to be deleted again. ended is called
// for each session that is gone with them: it has no other traces and no log.
func (s *Setup) Delete(ctx context.Context, traces []store.Summary, ended func(host, session string) error) (n int, out deliver.Forgotten, err error) {
	p, err := s.Open(ctx)
	if err != nil {
		return 0, out, err
	}
	defer func() { _ = p.Close() }()
	ids, of := make(map[string]bool), make(map[spool.Key]store.Filter)
	for _, t := range traces {
		ids[t.TraceID] = true
		of[spool.SessionKey(t.Host, t.Session)] = store.Filter{Host: t.Host, Session: t.Session, Whole: true, Limit: -1}
	}
	sessions := make(map[spool.Key]bool)
	for key, same := range of {
		stored, err := s.Store.List(ctx, same)
		if err != nil {
			return 0, out, err
		}
		sessions[key] = !slices.ContainsFunc(stored, func(t store.Summary) bool { return !ids[t.TraceID] })
	}
	roots, err := s.Store.Runs(ctx, slices.Collect(maps.Keys(ids))...)
	if err != nil {
		return 0, out, err
	}
	// Sessions of several agents may have worked in a trace.
	p.Deliverer.Stored = make(map[spool.Key][]string)
	for _, root := range roots {
		for host := range p.Deliverer.Sources {
			key := spool.SessionKey(host, root.Session)
			if _, known := sessions[key]; !known {
				sessions[key] = false
			}
			p.Deliverer.Stored[key] = append(p.Deliverer.Stored[key], root.Span)
		}
	}
	if out, err = p.Deliverer.Forget(ctx, sessions, ids); err != nil {
		return 0, out, fmt.Errorf("nothing was deleted: %w", err)
	}
	for key, none := range sessions {
		// A log that stays shows that the session may continue.
		if left, err := p.Deliverer.Spool.Session(key); err == nil {
			_ = left.Close()
		} else if none && errors.Is(err, fs.ErrNotExist) {
			if err := ended(key.Host, of[key].Session); err != nil {
				return 0, out, fmt.Errorf("nothing was deleted: %w", err)
			}
		}
	}
	owed, err := s.Store.Owed(ctx, "")
	if err != nil {
		return 0, out, err
	}
	for _, o := range owed {
		if ids[o.Trace] {
			out.Waiting++
		}
	}
	n, err = s.Store.Delete(ctx, slices.Collect(maps.Keys(ids)))
	return n, out, err
}
