package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// DefaultLimit is how many traces List gives when the filter names no limit.
const DefaultLimit = 20

// minPrefix is the fewest digits of a trace id that Trace looks up.
const minPrefix = 4

// pruneBatch is how many traces Prune removes per transaction, so that an
// export never waits long for the lock.
const pruneBatch = 200

// Filter chooses traces; the zero Filter gives the newest twenty.
type Filter struct {
	// Limit is the most traces to give; if zero, DefaultLimit; if negative, all.
	Limit int
	// Offset is how many of the newest to leave out.
	Offset int
	// Host, Session and Outcome must be equal to the trace's; if empty, any.
	Host, Session, Outcome string
	// Since is the earliest start; if zero, any.
	Since time.Time
}

const summaryColumns = `trace_id, host, session, title, model, directory, outcome, runs, started, ended, spans,
	tools, tool_failures, tools_unknown, input, output, cache_read, cache_write, cost`

// where is the condition of a filter. It has only what is asked for, so
// that the planner can choose the index that fits.
func (f Filter) where() (string, []any) {
	var where []string
	var args []any
	add := func(cond string, arg any) {
		where = append(where, cond)
		args = append(args, arg)
	}
	if f.Session != "" {
		add(`session = ?`, f.Session)
	}
	if f.Outcome != "" {
		add(`outcome = ?`, f.Outcome)
	}
	if f.Host != "" {
		add(`host = ?`, f.Host)
	}
	if !f.Since.IsZero() {
		add(`started >= ?`, int64(nanos(f.Since))) //nolint:gosec // Up to the year 2262.
	}
	if len(where) == 0 {
		return "", nil
	}
	return ` WHERE ` + strings.Join(where, ` AND `), args
}

// query is the SQL of a filter.
func (f Filter) query() (string, []any) {
	where, args := f.where()
	limit := f.Limit
	if limit == 0 {
		limit = DefaultLimit
	}
	return `SELECT ` + summaryColumns + ` FROM traces` + where + ` ORDER BY started DESC, trace_id DESC LIMIT ? OFFSET ?`,
		append(args, limit, max(f.Offset, 0))
}

// Count gives how many traces the filter would choose without its limit and
// offset.
func (s *Store) Count(ctx context.Context, f Filter) (n int, err error) {
	where, args := f.where()
	if err := s.db.QueryRowContext(ctx, `SELECT count(*) FROM traces`+where, args...).Scan(&n); err != nil {
		return 0, s.wrap("count traces", err)
	}
	return n, nil
}

// List gives the summaries of the traces that the filter chooses, the newest
// first.
func (s *Store) List(ctx context.Context, f Filter) ([]Summary, error) {
	q, args := f.query()
	out, err := summaries(ctx, s.db, q, args...)
	if err != nil {
		return nil, s.wrap("list traces", err)
	}
	return out, nil
}

func summaries(ctx context.Context, q interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}, query string, args ...any,
) (_ []Summary, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var out []Summary
	for rows.Next() {
		var t Summary
		var started, ended int64
		var usage usageColumns
		if err := rows.Scan(append([]any{
			&t.TraceID, &t.Host, &t.Session, &t.Title, &t.Model, &t.Directory, &t.Outcome, &t.Runs,
			&started, &ended, &t.Spans, &t.Tools, &t.ToolFailures, &t.ToolsUnknown,
		}, usage.targets()...)...); err != nil {
			return nil, err
		}
		t.Started, t.Ended, t.Usage = fromNanos(started), fromNanos(ended), usage.usage()
		out = append(out, t)
	}
	return out, rows.Err()
}

// Trace is a stored trace.
type Trace struct {
	Summary
	// Spans are all its spans by start, those that end later first. They can be
	// given to any exporter: Spans.Snapshots().
	Spans tracetest.SpanStubs
}

// Trace gives the trace whose id begins with prefix, at least four hex digits
// of either case; the empty prefix gives the newest. It fails with ErrNotFound
// or ErrPrefix, or with an *AmbiguousError.
func (s *Store) Trace(ctx context.Context, prefix string) (*Trace, error) {
	prefix = strings.ToLower(prefix)
	if err := checkPrefix(prefix); err != nil {
		return nil, err
	}
	// One transaction, so that the summary and the spans are of one moment.
	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, s.wrap("read trace", err)
	}
	defer rollback(tx)

	q, args := `SELECT `+summaryColumns+` FROM traces`, []any(nil)
	if prefix != "" {
		// The range is what the index can look up; "g" comes after every digit.
		q, args = q+` WHERE trace_id >= ? AND trace_id < ?`, []any{prefix, prefix + "g"}
	}
	q += ` ORDER BY started DESC, trace_id DESC LIMIT ?`
	limit := maxCandidates + 1
	if prefix == "" {
		limit = 1
	}
	found, err := summaries(ctx, tx, q, append(args, limit)...)
	switch {
	case err != nil:
		return nil, s.wrap("find trace", err)
	case len(found) == 0 && prefix == "":
		return nil, fmt.Errorf("trace store %q: %w: it is empty", s.path, ErrNotFound)
	case len(found) == 0:
		return nil, fmt.Errorf("trace store %q: %w: none begins with %q", s.path, ErrNotFound, prefix)
	case len(found) > 1:
		more := len(found) > maxCandidates
		return nil, &AmbiguousError{Prefix: prefix, Candidates: found[:min(len(found), maxCandidates)], More: more}
	}
	t := &Trace{Summary: found[0]}
	t.Spans, err = readSpans(ctx, tx, `
		SELECT s.body, o.body FROM traces t JOIN spans s ON s.trace = t.id JOIN origins o ON o.id = s.origin
		WHERE t.trace_id = ? ORDER BY s.started, s.ended DESC, s.span_id`, t.TraceID)
	if err != nil {
		return nil, s.wrap("read trace "+t.TraceID, err)
	}
	return t, nil
}

func checkPrefix(p string) error {
	switch {
	case p == "":
		return nil
	case len(p) < minPrefix, len(p) > 32, strings.Trim(p, "0123456789abcdef") != "":
		return fmt.Errorf("trace id %q: %w", p, ErrPrefix)
	}
	return nil
}

// keepRemoved is how long the store remembers that it had a run.
const keepRemoved = 365 * 24 * time.Hour

// Prune removes the traces whose last span ended and was stored before the given
// moment, gives the space back and returns how many it removed: an imported
// trace counts from its import. It works in small transactions: when it fails
// half-way, what it has removed stays removed and is counted. For a year
// Conversation and Beside still give the runs that it removed.
func (s *Store) Prune(ctx context.Context, before time.Time) (int, error) {
	limit := int64(nanos(before)) //nolint:gosec // Up to the year 2262.
	total := 0
	for {
		n, err := s.pruneSome(ctx, limit)
		total += n
		if err != nil {
			return total, s.wrap("prune", err)
		}
		if n < pruneBatch {
			break
		}
	}
	if total == 0 {
		return 0, nil
	}
	if err := s.shrink(ctx); err != nil {
		return total, s.wrap("give back space", err)
	}
	return total, nil
}

// oldTraces is the SQL for what Prune removes at once.
const oldTraces = `SELECT id FROM traces WHERE max(ended, stored) < ? ORDER BY max(ended, stored) LIMIT ?`

func (s *Store) pruneSome(ctx context.Context, before int64) (int, error) {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer rollback(tx)
	const remember = `INSERT OR REPLACE INTO removed (span_id, trace_id, host, session, directory, started, ended, removed)
		SELECT s.span_id, t.trace_id, t.host, t.session, t.directory, s.started, s.ended, ?
		FROM traces t CROSS JOIN spans s WHERE s.trace = t.id AND s.role = 1 AND t.id IN (`
	now := s.now()
	if _, err := tx.ExecContext(ctx, `DELETE FROM removed WHERE removed < ?`, int64(nanos(now.Add(-keepRemoved)))); err != nil { //nolint:gosec // Up to the year 2262.
		return 0, err
	}
	if _, err := tx.ExecContext(ctx, remember+oldTraces+`)`, int64(nanos(now)), before, pruneBatch); err != nil { //nolint:gosec // Up to the year 2262.
		return 0, err
	}
	if _, err := tx.ExecContext(ctx, `DELETE FROM spans WHERE trace IN (`+oldTraces+`)`, before, pruneBatch); err != nil {
		return 0, err
	}
	res, err := tx.ExecContext(ctx, `DELETE FROM traces WHERE id IN (`+oldTraces+`)`, before, pruneBatch)
	if err != nil {
		return 0, err
	}
	n, err := res.RowsAffected()
	if err != nil {
		return 0, err
	}
	if n > 0 {
		const unused = `DELETE FROM origins WHERE NOT EXISTS (SELECT 1 FROM spans WHERE origin = origins.id)`
		if _, err := tx.ExecContext(ctx, unused); err != nil {
			return 0, err
		}
	}
	return int(n), tx.Commit()
}

// shrink cuts free pages off the file's end and empties the write-ahead log,
// so that removed texts do not stay on the disk. The log cannot be emptied
// while another process reads; a later Prune or the last Close does it then.
func (s *Store) shrink(ctx context.Context) (err error) {
	rows, err := s.db.QueryContext(ctx, `PRAGMA incremental_vacuum`)
	if err != nil {
		return err
	}
	// Each step frees one page.
	for rows.Next() {
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	var blocked, logged, moved int
	return s.db.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&blocked, &logged, &moved)
}
