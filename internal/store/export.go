package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// row is a span made ready before the transaction begins, so that the lock is
// held for the writing alone.
type row struct {
	span   jsonSpan
	facts  facts
	origin string
	body   string
}

// ExportSpans stores the spans in one transaction: all of them or, with an
// error, none. A span that is stored already is replaced when it differs and
// left alone when it does not; of several in the batch with one id the last
// counts. The summaries of the traces are up to date when it returns. It waits
// up to ten seconds for the lock while other processes write.
func (s *Store) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if len(spans) == 0 {
		return ctx.Err()
	}
	rows, err := makeRows(spans)
	if err != nil {
		return fmt.Errorf("trace store %q: %w", s.path, err)
	}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return s.wrap("begin export", err)
	}
	defer rollback(tx)
	if err := upsert(ctx, tx, rows, s.now()); err != nil {
		return s.wrap(fmt.Sprintf("store %d spans", len(rows)), err)
	}
	if err := tx.Commit(); err != nil {
		return s.wrap("commit export", err)
	}
	return nil
}

func makeRows(spans []sdktrace.ReadOnlySpan) ([]row, error) {
	rows := make([]row, 0, len(spans))
	for _, sp := range spans {
		if !sp.SpanContext().IsValid() {
			return nil, fmt.Errorf("span %q has no valid id (trace %s, span %s)",
				sp.Name(), sp.SpanContext().TraceID(), sp.SpanContext().SpanID())
		}
		stub := tracetest.SpanStubFromReadOnlySpan(sp)
		r := row{span: toJSON(sp), facts: factsOf(&stub)}
		var err error
		if r.body, err = encode(r.span); err != nil {
			return nil, fmt.Errorf("encode span %q: %w", sp.Name(), err)
		}
		if r.origin, err = encode(originOf(sp)); err != nil {
			return nil, fmt.Errorf("encode resource of span %q: %w", sp.Name(), err)
		}
		rows = append(rows, r)
	}
	return rows, nil
}

func upsert(ctx context.Context, tx *sql.Tx, rows []row, now time.Time) (err error) {
	stmt, err := tx.PrepareContext(ctx, `
		INSERT INTO spans (trace, span_id, parent_id, origin, started, ended, role, failed, model,
			input, output, cache_read, cache_write, cost, body)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (trace, span_id) DO UPDATE SET
			parent_id = excluded.parent_id, origin = excluded.origin,
			started = excluded.started, ended = excluded.ended,
			role = excluded.role, failed = excluded.failed, model = excluded.model,
			input = excluded.input, output = excluded.output,
			cache_read = excluded.cache_read, cache_write = excluded.cache_write,
			cost = excluded.cost, body = excluded.body
		WHERE body <> excluded.body OR origin <> excluded.origin`)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stmt.Close()) }()

	traces, origins := make(map[string]int64), make(map[string]int64)
	touched := make(map[int64]string)
	for i := range rows {
		r := &rows[i]
		trace, err := idOf(ctx, tx, traces, r.span.TraceID,
			`INSERT INTO traces (trace_id) VALUES (?) ON CONFLICT DO NOTHING`,
			`SELECT id FROM traces WHERE trace_id = ?`)
		if err != nil {
			return fmt.Errorf("trace %s: %w", r.span.TraceID, err)
		}
		origin, err := idOf(ctx, tx, origins, r.origin,
			`INSERT INTO origins (body) VALUES (?) ON CONFLICT DO NOTHING`,
			`SELECT id FROM origins WHERE body = ?`)
		if err != nil {
			return fmt.Errorf("resource: %w", err)
		}
		f := &r.facts
		args := append([]any{
			trace, r.span.SpanID, r.span.ParentSpanID, origin,
			int64(r.span.Start), int64(r.span.End), //nolint:gosec // Nanoseconds up to the year 2262.
			int(f.role), f.failed, f.model,
		}, f.usage.columns()...)
		res, err := stmt.ExecContext(ctx, append(args, r.body)...)
		if err != nil {
			return fmt.Errorf("span %s: %w", r.span.SpanID, err)
		}
		n, err := res.RowsAffected()
		if err != nil {
			return err
		}
		if n > 0 {
			touched[trace] = r.span.TraceID
		}
	}
	for id, traceID := range touched {
		if err := refresh(ctx, tx, id, traceID, now); err != nil {
			return fmt.Errorf("sum up trace %s: %w", traceID, err)
		}
	}
	return nil
}

// columns are the five values as the tables have them, NULL for unknown.
func (u *Usage) columns() []any {
	if u == nil {
		return make([]any, 5)
	}
	var cost any
	if u.CostUSD != nil {
		cost = *u.CostUSD
	}
	return []any{u.Input, u.Output, u.CacheRead, u.CacheWrite, cost}
}

// usageColumns scans what Usage.columns gave.
type usageColumns struct {
	input, output, cacheRead, cacheWrite sql.NullInt64
	cost                                 sql.NullFloat64
}

func (c *usageColumns) targets() []any {
	return []any{&c.input, &c.output, &c.cacheRead, &c.cacheWrite, &c.cost}
}

func (c *usageColumns) usage() *Usage {
	if !c.input.Valid && !c.output.Valid && !c.cost.Valid {
		return nil
	}
	u := &Usage{
		Input: c.input.Int64, Output: c.output.Int64,
		CacheRead: c.cacheRead.Int64, CacheWrite: c.cacheWrite.Int64,
	}
	if c.cost.Valid {
		u.CostUSD = &c.cost.Float64
	}
	return u
}

// idOf finds the row of a text, or makes it.
func idOf(ctx context.Context, tx *sql.Tx, known map[string]int64, text, insert, find string) (int64, error) {
	if id, ok := known[text]; ok {
		return id, nil
	}
	var id int64
	err := tx.QueryRowContext(ctx, find, text).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		var res sql.Result
		if res, err = tx.ExecContext(ctx, insert, text); err == nil {
			id, err = res.LastInsertId()
		}
	}
	if err != nil {
		return 0, err
	}
	known[text] = id
	return id, nil
}

// refresh makes the summary of a trace anew from its spans.
func refresh(ctx context.Context, tx *sql.Tx, id int64, traceID string, now time.Time) error {
	t := totals{}
	var usage usageColumns
	err := tx.QueryRowContext(ctx, `
		SELECT count(*), coalesce(min(nullif(started, 0)), 0), max(max(started, ended)),
			count(*) FILTER (WHERE role = ?2), count(*) FILTER (WHERE role = ?2 AND failed),
			sum(input) FILTER (WHERE role = ?3), sum(output) FILTER (WHERE role = ?3),
			sum(cache_read) FILTER (WHERE role = ?3), sum(cache_write) FILTER (WHERE role = ?3),
			sum(cost) FILTER (WHERE role = ?3)
		FROM spans WHERE trace = ?1`, id, int(roleTool), int(roleChat)).
		Scan(append([]any{&t.spans, &t.started, &t.ended, &t.tools, &t.failures}, usage.targets()...)...)
	if err != nil {
		return err
	}
	t.usage = usage.usage()

	const fields = `SELECT s.body, o.body FROM spans s JOIN origins o ON o.id = s.origin WHERE s.trace = ?`
	roots, err := readSpans(ctx, tx, fields+` AND s.role = 1 ORDER BY s.started, s.span_id`, id)
	if err != nil {
		return err
	}
	var first *tracetest.SpanStub
	if len(roots) == 0 {
		some, err := readSpans(ctx, tx, fields+` ORDER BY s.parent_id <> '', s.started, s.span_id LIMIT 1`, id)
		if err != nil {
			return err
		}
		first = &some[0]
	}
	err = tx.QueryRowContext(ctx, `
		SELECT model FROM spans WHERE trace = ? AND role = ? AND model <> ''
		ORDER BY started, span_id LIMIT 1`, id, int(roleChat)).Scan(&t.model)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}

	s := summarize(traceID, t, roots, first)
	args := append([]any{
		s.Host, s.Session, s.Title, s.Model, s.Directory, s.Outcome, s.Runs,
		t.started, t.ended, s.Spans, s.Tools, s.ToolFailures, s.ToolsUnknown,
	}, s.Usage.columns()...)
	args = append(args, int64(nanos(now))) //nolint:gosec // Up to the year 2262.
	_, err = tx.ExecContext(ctx, `
		UPDATE traces SET host = ?, session = ?, title = ?, model = ?, directory = ?, outcome = ?, runs = ?,
			started = ?, ended = ?, spans = ?, tools = ?, tool_failures = ?, tools_unknown = ?,
			input = ?, output = ?, cache_read = ?, cache_write = ?, cost = ?, stored = ?
		WHERE id = ?`, append(args, id)...)
	return err
}

// readSpans runs a query that gives bodies and origins.
func readSpans(ctx context.Context, tx *sql.Tx, query string, args ...any) (_ tracetest.SpanStubs, err error) {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var out tracetest.SpanStubs
	origins := make(map[string]tracetest.SpanStub)
	for rows.Next() {
		var body, origin string
		if err := rows.Scan(&body, &origin); err != nil {
			return nil, err
		}
		from, ok := origins[origin]
		if !ok {
			var o jsonOrigin
			if err := json.Unmarshal([]byte(origin), &o); err != nil {
				return nil, fmt.Errorf("decode stored resource: %w", err)
			}
			from.Resource, from.InstrumentationScope = o.resource(), o.scope()
			origins[origin] = from
		}
		span, err := decodeSpan([]byte(body))
		if err != nil {
			return nil, err
		}
		span.Resource, span.InstrumentationScope = from.Resource, from.InstrumentationScope
		out = append(out, span)
	}
	return slices.Clip(out), rows.Err()
}

func decodeSpan(body []byte) (tracetest.SpanStub, error) {
	var js jsonSpan
	if err := json.Unmarshal(body, &js); err != nil {
		return tracetest.SpanStub{}, fmt.Errorf("decode stored span: %w", err)
	}
	span, err := js.stub()
	if err != nil {
		return span, fmt.Errorf("decode stored span %q: %w", js.SpanID, err)
	}
	return span, nil
}
