package store

import (
	"context"
	"errors"
	"time"
)

// The parts of the query for roots: CROSS JOIN makes SQLite find the traces
// first, by an index of their own, and the roots by theirs. What Prune removed
// follows; a run that was stored again is in both.
const (
	rootsWhere = `SELECT t.trace_id, s.span_id, s.started, s.ended, 0 AS gone
		FROM traces t CROSS JOIN spans s WHERE s.trace = t.id AND s.role = 1 AND `
	removedWhere = ` UNION ALL SELECT t.trace_id, t.span_id, t.started, t.ended, 1 AS gone FROM removed t WHERE `
	ofSession    = `t.session = ?1`
	besidePlace  = `t.started <= ?1 AND t.ended >= ?2 AND t.host = ?3 AND t.directory = ?4 AND substr(t.session, 1, ?5) = ?6`
	rootsOrder   = ` ORDER BY gone, 3, 2`
)

func rootsQuery(where string) string { return rootsWhere + where + removedWhere + where + rootsOrder }

// Root is the own span of a stored run.
type Root struct {
	// Trace is 32 hex digits, Span 16.
	Trace, Span string
	// Start and End bound the run.
	Start, End time.Time
	// Removed reports that Prune has removed the run.
	Removed bool
}

// Conversation gives the roots of the runs of one session of the host's, by
// their start, those that Prune removed last; none for a session that is not
// known. A trace whose id came from outside may hold runs of several sessions; it
// counts for the one that List shows.
func (s *Store) Conversation(ctx context.Context, session string) ([]Root, error) {
	out, err := s.roots(ctx, ofSession, session)
	if err != nil {
		return nil, s.wrap("read runs of a session", err)
	}
	return out, nil
}

// Place is a stretch of time in a working directory.
type Place struct {
	// Host is the agent program, Directory the working directory, both as List
	// shows them.
	Host, Directory string
	// Sessions is what the session's identity begins with; if empty, any.
	Sessions string
	// From and To bound the time, both included.
	From, To time.Time
}

// Beside gives the roots of the runs that were under way in a place at any
// moment, by their start, those that Prune removed last.
func (s *Store) Beside(ctx context.Context, p Place) ([]Root, error) {
	out, err := s.roots(ctx, besidePlace, int64(nanos(p.To)), int64(nanos(p.From)), //nolint:gosec // Up to the year 2262.
		p.Host, p.Directory, len(p.Sessions), p.Sessions)
	if err != nil {
		return nil, s.wrap("read runs of a directory", err)
	}
	return out, nil
}

func (s *Store) roots(ctx context.Context, where string, args ...any) (_ []Root, err error) {
	rows, err := s.db.QueryContext(ctx, rootsQuery(where), args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var out []Root
	for rows.Next() {
		var r Root
		var started, ended int64
		if err := rows.Scan(&r.Trace, &r.Span, &started, &ended, &r.Removed); err != nil {
			return nil, err
		}
		r.Start, r.End = fromNanos(started), fromNanos(ended)
		out = append(out, r)
	}
	return out, rows.Err()
}
