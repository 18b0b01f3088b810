package store

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
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
	role            Role
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
				rows = append(rows, row{sp, RoleOf(sp.GetAttributes()), message, origin})
			}
		}
	}
	return rows, nil
}

func validID(id []byte, size int) bool {
	return len(id) == size && strings.Trim(string(id), "\x00") != ""
}

// insertSpan stores a span unless there is one with its id. upsertSpan replaces that
// if it differs, for which SQLite prepares each time to undo a part of the statement.
const insertSpan = `
	INSERT INTO spans (id, trace, span_id, parent_id, origin, started, ended, role, message)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT (trace, span_id) DO `

const upsertSpan = insertSpan + `UPDATE SET
		id = excluded.id, parent_id = excluded.parent_id, origin = excluded.origin,
		started = excluded.started, ended = excluded.ended, role = excluded.role, message = excluded.message
	WHERE message <> excluded.message OR origin <> excluded.origin`

// numberBits are the lowest bits of a span's id.
const numberBits = 24

// openTrace is a trace of an upload.
type openTrace struct {
	id int64
	// next is the next span's id.
	next int64
	// spans counts the spans before the upload, indexed is as in the table.
	spans, indexed int64
	// changed are the spans that the upload changed.
	changed []*row
	// unindexed counts the spans that the upload takes out of the full text.
	unindexed *int
}

// upsert writes the rows in a transaction. The context of its statements cannot
// end, because the driver starts a goroutine for each statement whose context can.
func upsert(until context.Context, tx *prepared, rows []row, now time.Time) (err error) {
	ctx := context.WithoutCancel(until)
	traces, origins := make(map[string]*openTrace), make(map[string]int64)
	var trace *openTrace
	var origin int64
	unindexed := 0
	for i := range rows {
		if err := until.Err(); err != nil {
			return err
		}
		r := &rows[i]
		if i == 0 || !bytes.Equal(r.GetTraceId(), rows[i-1].GetTraceId()) {
			if trace = traces[string(r.GetTraceId())]; trace == nil {
				if trace, err = findTrace(ctx, tx, otlp.TraceID(r.Span)); err != nil {
					return fmt.Errorf("trace %x: %w", r.GetTraceId(), err)
				}
				trace.unindexed = &unindexed
				traces[string(r.GetTraceId())] = trace
			}
		}
		if i == 0 || !bytes.Equal(r.origin, rows[i-1].origin) {
			origin, err = idOf(ctx, tx, origins, string(r.origin), r.origin,
				`INSERT INTO origins (message) VALUES (?)`, `SELECT id FROM origins WHERE message = ?`)
			if err != nil {
				return fmt.Errorf("resource: %w", err)
			}
		}
		if err := trace.upsert(ctx, tx, r, origin); err != nil {
			return fmt.Errorf("span %x: %w", r.GetSpanId(), err)
		}
	}
	for _, t := range traces {
		if len(t.changed) == 0 {
			continue
		}
		if err := t.refresh(ctx, tx, now); err != nil {
			return fmt.Errorf("summarize trace %d: %w", t.id, err)
		}
	}
	return nil
}

// findTrace finds a trace, or makes it.
func findTrace(ctx context.Context, tx *prepared, traceID string) (*openTrace, error) {
	var t openTrace
	err := eachRow(ctx, tx, func(scan func(...any) error) error { return scan(&t.id, &t.spans, &t.indexed, &t.next) }, `
		SELECT id, spans, indexed, (SELECT coalesce(max(id), 0) FROM spans WHERE id < (t.id + 1) << 24) FROM traces t WHERE trace_id = ?`, traceID)
	if err == nil && t.id == 0 {
		var res sql.Result
		// The spans of a removed trace may still have its number.
		if res, err = tx.ExecContext(ctx, `INSERT INTO traces (id, trace_id) SELECT 1 + max(
			coalesce((SELECT max(id) FROM traces), 0), coalesce((SELECT max(trace) FROM gone), 0)), ?`, traceID); err == nil {
			t.id, err = res.LastInsertId()
		}
	}
	t.next = max(t.next, t.id<<numberBits) + 1
	return &t, err
}

// upsert writes a span.
func (t *openTrace) upsert(ctx context.Context, tx *prepared, r *row, origin int64) error {
	if t.next>>numberBits != t.id {
		return fmt.Errorf("the trace has more than %d spans", 1<<numberBits-2)
	}
	spanID := otlp.SpanID(r.Span)
	if t.indexed > 0 {
		if same, err := t.unchanged(ctx, tx, spanID, r.message, origin); same || err != nil {
			return err
		}
	}
	args := []any{
		t.next, t.id, spanID, otlp.ParentID(r.Span), origin,
		column(r.GetStartTimeUnixNano()), column(r.GetEndTimeUnixNano()), int(r.role), r.message,
	}
	n, err := affected(ctx, tx, insertSpan+`NOTHING`, args)
	if err == nil && n == 0 {
		n, err = affected(ctx, tx, upsertSpan, args)
	}
	if err != nil || n == 0 {
		return err
	}
	if err := storeHookRuns(ctx, tx, t.next, r.Span); err != nil {
		return err
	}
	t.changed = append(t.changed, r)
	t.next++
	return nil
}

// affected executes a statement and returns how many rows it has changed.
func affected(ctx context.Context, tx *prepared, query string, args []any) (int64, error) {
	res, err := tx.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func storeHookRuns(ctx context.Context, tx *prepared, id int64, s *tracepb.Span) error {
	for i, e := range s.GetEvents() {
		if e.GetName() != otelmap.EventHook {
			continue
		}
		h := hookRunOf(e)
		args := []any{id, i, column(otlp.UnixNano(h.Started)), int64(h.Took)}
		for _, text := range []string{h.Event, h.Tool, h.Command, h.Source, h.Status, h.Decision, h.Reason} {
			args = append(args, otlp.ValidText(text))
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO hook_runs
			(span, number, started, took, event, tool, command, source, status, decision, reason)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, args...)
		if err != nil {
			return err
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

// refresh computes the summary of the trace from its spans.
func (t *openTrace) refresh(ctx context.Context, tx *prepared, now time.Time) error {
	d, err := t.digest(ctx, tx)
	if err != nil {
		return err
	}
	var roots []storedSpan
	for _, where := range []string{
		`s.trace = ? AND s.role = 1 ORDER BY s.started, s.span_id`,
		`s.trace = ? ORDER BY s.parent_id <> '', s.started, s.span_id LIMIT 1`, // no root is stored yet
	} {
		if roots, err = readSpans(ctx, tx, where, t.id); err != nil {
			return err
		}
		if len(roots) > 0 {
			break
		}
	}
	s := summarize(d, roots)
	d.sum = s
	args := append([]any{
		s.Host, s.Session, s.Title, s.Model, s.Directory, s.Branch, s.Outcome, s.Runs,
		d.started, d.ended, s.Spans, s.Tools, s.ToolFailures, s.ToolDenials, s.ToolsUnknown, int64(s.Waited), s.Evidence, s.Missing,
	}, s.Usage.columns()...)
	_, err = tx.ExecContext(ctx, `
		UPDATE traces SET host = ?, session = ?, title = ?, model = ?, directory = ?, branch = ?, outcome = ?, runs = ?,
			started = ?, ended = ?, spans = ?, tools = ?, tool_failures = ?, tool_denials = ?, tools_unknown = ?, waited = ?, evidence = ?, missing = ?,
			input = ?, output = ?, cache_read = ?, cache_write = ?, cost = ?, facts = ?, waiting = 1, stored = ?
		WHERE id = ?`, append(args, d.encode(), column(otlp.UnixNano(now)), t.id)...)
	return err
}

// digest returns the digest of all spans. If the upload has only added spans, it
// adds them to the stored digest, so that the work does not grow with the trace.
func (t *openTrace) digest(ctx context.Context, tx *prepared) (*digest, error) {
	d := digest{deep: true}
	var spans int64
	var facts []byte
	err := eachRow(ctx, tx, func(scan func(...any) error) error { return scan(&spans, &d.spans, &d.started, &d.ended, &facts) }, `
		SELECT (SELECT count(*) FROM spans WHERE trace = t.id), spans, started, ended, facts FROM traces t WHERE id = ?`, t.id)
	if err != nil {
		return nil, err
	}
	if spans != t.spans+int64(len(t.changed)) {
		return digestOf(ctx, tx, t.id)
	}
	if t.spans > 0 {
		if err := new(digestReader).decode(facts, &d); err != nil {
			return nil, err
		}
	}
	for _, r := range t.changed {
		d.add(r.Span, r.role)
	}
	return &d, nil
}

// digestOf reads all spans of a trace.
func digestOf(ctx context.Context, tx querier, trace int64) (*digest, error) {
	var d digest
	err := eachSpan(ctx, tx, func(_ int64, s *tracepb.Span) error {
		d.add(s, RoleOf(s.GetAttributes()))
		return nil
	}, `trace = ?`, trace)
	return &d, err
}
