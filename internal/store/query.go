package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
)

// DefaultLimit is how many traces List gives when the filter names no limit.
const DefaultLimit = 20

// minPrefix is the fewest digits of a trace id that Trace looks up.
const minPrefix = 4

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
		add(`started >= ?`, column(otlp.UnixNano(f.Since)))
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
		t.Started, t.Ended, t.Usage = fromColumn(started), fromColumn(ended), usage.usage()
		out = append(out, t)
	}
	return out, rows.Err()
}

// Trace is a stored trace.
type Trace struct {
	Summary
	// ResourceSpans holds all spans, those of one resource and scope together,
	// in the order of their start; of spans with one start, those that end later
	// come first.
	ResourceSpans []*tracepb.ResourceSpans
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
	var id int64
	if err := tx.QueryRowContext(ctx, `SELECT id FROM traces WHERE trace_id = ?`, t.TraceID).Scan(&id); err != nil {
		return nil, s.wrap("read trace "+t.TraceID, err)
	}
	spans, err := readSpans(ctx, tx, `TRUE ORDER BY s.started, s.ended DESC, s.span_id`, id)
	if err != nil {
		return nil, s.wrap("read trace "+t.TraceID, err)
	}
	t.ResourceSpans = grouped(spans)
	return t, nil
}

// grouped puts the spans of each origin together, in the order in which the
// origins first appear.
func grouped(spans []storedSpan) (out []*tracepb.ResourceSpans) {
	for _, s := range spans {
		scope := s.origin.GetScopeSpans()[0]
		if scope.Spans == nil {
			out = append(out, s.origin)
		}
		scope.Spans = append(scope.Spans, s.Span)
	}
	return out
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
