package store

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
)

// UploadTraces stores the spans in one transaction: all of them or, with an
// error, none. A stored span is replaced if it differs; of several spans with
// one id the last one counts. The summaries of the traces are up to date when
// UploadTraces returns. It waits up to ten seconds while other processes write.
func (s *Store) UploadTraces(ctx context.Context, messages []*tracepb.ResourceSpans) error {
	rows, err := makeRows(messages)
	if err != nil {
		return fmt.Errorf("trace store %q: %w", s.path, err)
	}
	if len(rows) == 0 {
		return ctx.Err()
	}
	return s.write(ctx, fmt.Sprintf("store %d spans", len(rows)), func(tx *sql.Tx) error {
		return upsert(ctx, &prepared{on: tx}, rows, s.now())
	})
}

// row is a span encoded before the transaction begins, so that the lock is held
// for writing only.
type row struct {
	*tracepb.Span
	facts
	message, origin []byte
}

func makeRows(messages []*tracepb.ResourceSpans) ([]row, error) {
	rows := make([]row, 0, otlp.Count(messages))
	for _, rs := range messages {
		for _, ss := range rs.GetScopeSpans() {
			origin, err := encode(originOf(rs, ss))
			if err != nil {
				return nil, fmt.Errorf("encode resource: %w", err)
			}
			for _, sp := range ss.GetSpans() {
				if !validID(sp.GetTraceId(), 16) || !validID(sp.GetSpanId(), 8) {
					return nil, fmt.Errorf("span %q has no valid id (trace %x, span %x)", sp.GetName(), sp.GetTraceId(), sp.GetSpanId())
				}
				message, err := encode(sp)
				if err != nil {
					return nil, fmt.Errorf("encode span %q: %w", sp.GetName(), err)
				}
				rows = append(rows, row{sp, factsOf(sp), message, origin})
			}
		}
	}
	return rows, nil
}

func validID(id []byte, size int) bool {
	return len(id) == size && strings.Trim(string(id), "\x00") != ""
}

const upsertSpan = `
	INSERT INTO spans (trace, span_id, parent_id, origin, started, ended, role, failed, model,
		input, output, cache_read, cache_write, cost, message)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT (trace, span_id) DO UPDATE SET
		parent_id = excluded.parent_id, origin = excluded.origin,
		started = excluded.started, ended = excluded.ended,
		role = excluded.role, failed = excluded.failed, model = excluded.model,
		input = excluded.input, output = excluded.output,
		cache_read = excluded.cache_read, cache_write = excluded.cache_write,
		cost = excluded.cost, message = excluded.message
	WHERE message <> excluded.message OR origin <> excluded.origin`

// upsert writes the rows in a transaction. The context of its statements cannot
// end, because the driver starts a goroutine for each statement whose context can.
func upsert(until context.Context, tx *prepared, rows []row, now time.Time) (err error) {
	ctx := context.WithoutCancel(until)
	traces, origins := make(map[string]int64), make(map[string]int64)
	touched := make(map[int64]bool)
	var trace, origin int64
	var args []any
	for i := range rows {
		if err := until.Err(); err != nil {
			return err
		}
		r, spanID := &rows[i], otlp.SpanID(rows[i].Span)
		if i == 0 || !bytes.Equal(r.GetTraceId(), rows[i-1].GetTraceId()) {
			id := otlp.TraceID(r.Span)
			trace, err = idOf(ctx, tx, traces, id, id,
				`INSERT INTO traces (trace_id) VALUES (?)`, `SELECT id FROM traces WHERE trace_id = ?`)
			if err != nil {
				return fmt.Errorf("trace %s: %w", id, err)
			}
		}
		if i == 0 || !bytes.Equal(r.origin, rows[i-1].origin) {
			origin, err = idOf(ctx, tx, origins, string(r.origin), r.origin,
				`INSERT INTO origins (message) VALUES (?)`, `SELECT id FROM origins WHERE message = ?`)
			if err != nil {
				return fmt.Errorf("resource: %w", err)
			}
		}
		args = append(args[:0], trace, spanID, otlp.ParentID(r.Span), origin,
			column(r.GetStartTimeUnixNano()), column(r.GetEndTimeUnixNano()), int(r.role), r.failed, r.model)
		args = append(append(args, r.usage.columns()...), r.message)
		res, err := tx.ExecContext(ctx, upsertSpan, args...)
		if err != nil {
			return fmt.Errorf("span %s: %w", spanID, err)
		}
		n, err := res.RowsAffected()
		if err != nil {
			return err
		}
		if n > 0 {
			touched[trace] = true
		}
	}
	for id := range touched {
		if err := refresh(ctx, tx, id, now); err != nil {
			return fmt.Errorf("summarize trace %d: %w", id, err)
		}
	}
	return nil
}

// idOf finds the row with a value, or makes it.
func idOf(ctx context.Context, tx *prepared, known map[string]int64, key string, value any, insert, find string) (int64, error) {
	if id, ok := known[key]; ok {
		return id, nil
	}
	var id int64
	err := eachRow(ctx, tx, func(scan func(...any) error) error { return scan(&id) }, find, value)
	if err == nil && id == 0 {
		var res sql.Result
		if res, err = tx.ExecContext(ctx, insert, value); err == nil {
			id, err = res.LastInsertId()
		}
	}
	if err != nil {
		return 0, err
	}
	known[key] = id
	return id, nil
}

// refresh computes the summary of a trace from its spans.
func refresh(ctx context.Context, tx *prepared, id int64, now time.Time) error {
	var t totals
	var usage usageColumns
	err := eachRow(ctx, tx, func(scan func(...any) error) error {
		return scan(slices.Concat([]any{&t.spans, &t.started, &t.ended, &t.tools, &t.failures}, usage.targets(), []any{&t.model})...)
	}, `
		SELECT count(*), coalesce(min(nullif(started, 0)), 0), max(max(started, ended)),
			count(*) FILTER (WHERE role = ?2), count(*) FILTER (WHERE role = ?2 AND failed),
			sum(input) FILTER (WHERE role = ?3), sum(output) FILTER (WHERE role = ?3),
			sum(cache_read) FILTER (WHERE role = ?3), sum(cache_write) FILTER (WHERE role = ?3),
			sum(cost) FILTER (WHERE role = ?3),
			coalesce((SELECT model FROM spans WHERE trace = ?1 AND role = ?3 AND model <> '' ORDER BY started, span_id LIMIT 1), '')
		FROM spans WHERE trace = ?1`, id, int(RoleTool), int(RoleChat))
	if err != nil {
		return err
	}
	t.usage = usage.usage()

	var roots []storedSpan
	for _, where := range []string{
		`s.trace = ? AND s.role = 1 ORDER BY s.started, s.span_id`,
		`s.trace = ? ORDER BY s.parent_id <> '', s.started, s.span_id LIMIT 1`, // no root is stored yet
	} {
		if roots, err = readSpans(ctx, tx, where, id); err != nil {
			return err
		}
		if len(roots) > 0 {
			break
		}
	}
	s := summarize(t, roots)
	args := append([]any{
		s.Host, s.Session, s.Title, s.Model, s.Directory, s.Outcome, s.Runs,
		t.started, t.ended, s.Spans, s.Tools, s.ToolFailures, s.ToolsUnknown,
	}, s.Usage.columns()...)
	_, err = tx.ExecContext(ctx, `
		UPDATE traces SET host = ?, session = ?, title = ?, model = ?, directory = ?, outcome = ?, runs = ?,
			started = ?, ended = ?, spans = ?, tools = ?, tool_failures = ?, tools_unknown = ?,
			input = ?, output = ?, cache_read = ?, cache_write = ?, cost = ?, stored = ?
		WHERE id = ?`, append(args, column(otlp.UnixNano(now)), id)...)
	return err
}
