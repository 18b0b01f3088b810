package store

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// Root is the root span of a stored run.
type Root struct {
	// Session is as in Summary. Trace is 32 hex digits, Span 16.
	Session, Trace, Span string
	// Start and End bound the run.
	Start, End time.Time
	// Removed reports whether Prune has removed the run.
	Removed bool
}

// Place is a working directory during a period.
type Place struct {
	// Host is the agent program, Directory the working directory, both as in
	// Summary.
	Host, Directory string
	// Sessions is a prefix of the session's identifier. If empty, any session.
	Sessions string
	// From and To bound the period, both included.
	From, To time.Time
}

// Conversations returns the roots of the runs of some of the agent's sessions by
// their start, removed ones last.
func (s *Store) Conversations(ctx context.Context, sessions ...string) ([]Root, error) {
	out, err := s.roots(ctx, conversationsQuery, rawjson.Encode(sessions))
	return out, s.wrap("read runs of sessions", err)
}

// Runs returns the roots of the runs of some traces by their start.
func (s *Store) Runs(ctx context.Context, traces ...string) ([]Root, error) {
	out, err := s.roots(ctx, runsQuery, rawjson.Encode(traces))
	return out, s.wrap("read runs of traces", err)
}

// Beside returns the roots of the runs that were active in a place at any time
// of its period, by their start, removed ones last.
func (s *Store) Beside(ctx context.Context, p Place) ([]Root, error) {
	out, err := s.roots(ctx, placeQuery, column(otlp.UnixNano(p.To)), column(otlp.UnixNano(p.From)),
		p.Host, p.Directory, len(p.Sessions), p.Sessions)
	return out, s.wrap("read runs of a directory", err)
}

// Folders returns the working directories of all traces, each folder of a workspace that
// has several, sorted.
func (s *Store) Folders(ctx context.Context) (out []string, err error) {
	err = eachRow(ctx, &s.queries, func(scan func(...any) error) error {
		out = append(out, "")
		return scan(&out[len(out)-1])
	}, `SELECT directory FROM traces UNION SELECT value FROM traces t, json_each(t.folders) WHERE folders <> '' ORDER BY 1`)
	return out, s.wrap("read folders", err)
}

// The conditions of the queries.
const (
	ofSessions = `session IN (SELECT value FROM json_each(?1))`
	inPlace    = `t.started <= ?1 AND t.ended >= ?2 AND t.host = ?3 AND substr(t.session, 1, ?5) = ?6 AND ?4 = `
	// mainFolder is Summary.Cwd.
	mainFolder = `coalesce(json_extract(nullif(t.folders, ''), '$[0]'), t.directory)`
)

// The queries select stored and removed roots; a run that was stored again is in both.
// CROSS JOIN makes SQLite find the traces first, each by an index.
const (
	storedRoots  = `SELECT t.session, t.trace_id, s.span_id, s.started, s.ended, 0 AS gone FROM `
	removedRoots = ` UNION ALL SELECT t.session, t.trace_id, t.span_id, t.started, t.ended, 1 AS gone FROM removed t WHERE `
	runsQuery    = storedRoots + `traces t CROSS JOIN spans s WHERE s.trace = t.id AND s.role = 1 AND t.trace_id IN (SELECT value FROM json_each(?1))`
	placeQuery   = storedRoots + `traces t CROSS JOIN spans s WHERE s.trace = t.id AND s.role = 1 AND ` + inPlace + mainFolder + removedRoots + inPlace + `t.directory`

	conversationsQuery = storedRoots + `traces t CROSS JOIN spans s WHERE s.trace = t.id AND s.role = 1 AND t.` + ofSessions + removedRoots + `t.` + ofSessions
)

func (s *Store) roots(ctx context.Context, query string, args ...any) (out []Root, err error) {
	// An import asks thousands of times, and a context that can end costs a goroutine each.
	err = eachRow(context.WithoutCancel(ctx), &s.queries, func(scan func(...any) error) error {
		var r Root
		var started, ended int64
		err := scan(&r.Session, &r.Trace, &r.Span, &started, &ended, &r.Removed)
		r.Start, r.End = fromColumn(started), fromColumn(ended)
		out = append(out, r)
		return err
	}, query, args...)
	// Most sessions have few, for which SQLite would prepare to sort many.
	slices.SortFunc(out, func(x, y Root) int {
		if x.Removed != y.Removed {
			return map[bool]int{true: 1, false: -1}[x.Removed]
		}
		return cmp.Or(x.Start.Compare(y.Start), cmp.Compare(x.Span, y.Span))
	})
	return out, err
}
