package store

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/traces/sums"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/otelmap/step"
	"github.com/hookspan/hookspan/spool"
)

// UploadTraces stores the spans in one transaction: all of them or, with an
// error, none. A stored span is replaced if it differs; of several spans with
// one id the last one counts. The summaries of the traces are up to date when
// UploadTraces returns. It waits up to ten seconds while other processes write.
func (s *Store) UploadTraces(ctx context.Context, messages []*tracepb.ResourceSpans) error {
	return s.upload(ctx, messages, func(*prepared) error { return nil })
}

// upload is UploadTraces, with also at the end of its transaction.
func (s *Store) upload(ctx context.Context, messages []*tracepb.ResourceSpans, also func(*prepared) error) error {
	var in encoder
	defer in.release()
	rows, err := makeRows(&in, messages)
	if err != nil {
		return fmt.Errorf("trace store %q: %w", s.path, err)
	}
	if len(rows) == 0 {
		return ctx.Err()
	}
	return s.write(ctx, fmt.Sprintf("store %d spans", len(rows)), func(tx *sql.Tx) error {
		p := &prepared{on: tx}
		return cmp.Or(s.upsert(ctx, p, rows), also(p))
	})
}

// encodedBefore is up to how many spans are encoded before the transaction begins, so that the
// lock is held for writing only. Of more each is encoded when it is written: all would need
// as much memory as the spans themselves.
const encodedBefore = 16 << 10

// row is a span of an upload.
type row struct {
	storedSpan
	kind    step.Kind
	session string
	// message and resource are the span and its origin. The message is nil until it is encoded.
	message, resource []byte
}

func (r *row) encode(in *encoder) error {
	message, span, err := encode(in, r.Span)
	if err != nil {
		return fmt.Errorf("encode span %q: %w", r.GetName(), err)
	}
	r.message, r.Span = message, span
	return nil
}

func makeRows(in *encoder, messages []*tracepb.ResourceSpans) ([]row, error) {
	n := otlp.Count(messages)
	rows := make([]row, 0, n)
	for _, rs := range messages {
		for _, ss := range rs.GetScopeSpans() {
			resource, origin, err := encode(in, originOf(rs, ss))
			if err != nil {
				return nil, fmt.Errorf("encode resource: %w", err)
			}
			for _, sp := range ss.GetSpans() {
				if !validID(sp.GetTraceId(), 16) || !validID(sp.GetSpanId(), 8) {
					return nil, fmt.Errorf("span %q has no valid id (trace %x, span %x)", sp.GetName(), sp.GetTraceId(), sp.GetSpanId())
				}
				r := row{storedSpan{sp, origin}, step.Of(sp).Kind(), step.Of(sp).Session(), nil, resource}
				if n <= encodedBefore {
					err = r.encode(in)
				}
				if err != nil {
					return nil, err
				}
				rows = append(rows, r)
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
		started = excluded.started, ended = excluded.ended, role = excluded.role,
		message = excluded.message
	WHERE message <> excluded.message OR origin <> excluded.origin`

// numberBits are the lowest bits of a span's id.
const numberBits = 24

// uploading is what the rows of a transaction share.
type uploading struct {
	tx *prepared
	// traces are by the trace id, one for each session.
	traces  map[string][]*openTrace
	origins map[string]int64
	// newest is the largest number that a trace has, 0 before it is needed.
	newest int64
	// unindexed counts the spans that the upload takes out of the full text.
	unindexed int
	// series are those that the upload adds to, by the series asked for.
	series map[sums.Series]*storedSeries
	// shrunk counts the traces that say less than they did.
	shrunk int
	// removed has for a session whether traces of it were removed, 0 or 1.
	removed map[string]int64
}

// openTrace is a trace of an upload.
type openTrace struct {
	*uploading
	id int64
	// session is empty if no span has named it.
	session string
	// next is the next span's id.
	next int64
	// spans counts the spans before the upload, indexed is as in the table.
	spans, indexed int64
	// changed are the spans that the upload has added or, which replaced reports, replaced.
	changed  []*row
	replaced bool
	// root is the first run's, if it is stored.
	root storedSpan
}

// upsert writes the rows in a transaction. The context of its statements cannot
// end, because the driver starts a goroutine for each statement whose context can.
func (s *Store) upsert(until context.Context, tx *prepared, rows []row) (err error) {
	ctx, now := context.WithoutCancel(until), s.now()
	u := &uploading{tx: tx, traces: make(map[string][]*openTrace), origins: make(map[string]int64), removed: make(map[string]int64), series: make(map[sums.Series]*storedSeries)}
	if err := u.open(ctx, rows); err != nil {
		return fmt.Errorf("find traces: %w", err)
	}
	var trace *openTrace
	var origin int64
	for i := range rows {
		if err := until.Err(); err != nil {
			return err
		}
		r := &rows[i]
		if i == 0 || !bytes.Equal(r.GetTraceId(), rows[i-1].GetTraceId()) || r.session != rows[i-1].session {
			if trace, err = u.trace(ctx, otlp.TraceID(r.Span), r.session); err != nil {
				return fmt.Errorf("trace %x: %w", r.GetTraceId(), err)
			}
		}
		if i == 0 || !bytes.Equal(r.resource, rows[i-1].resource) {
			if origin, err = u.originID(ctx, r.resource); err != nil {
				return fmt.Errorf("resource: %w", err)
			}
		}
		if err := trace.upsert(ctx, r, origin); err != nil {
			return fmt.Errorf("span %x: %w", r.GetSpanId(), err)
		}
	}
	for _, t := range slices.Concat(slices.Collect(maps.Values(u.traces))...) {
		if len(t.changed) == 0 {
			continue
		}
		if err := t.refresh(ctx, now); err != nil {
			return fmt.Errorf("summarize trace %d: %w", t.id, err)
		}
		if !s.counts.Load() {
			continue
		}
		if err := t.count(ctx, s.repository.Load()); err != nil {
			return fmt.Errorf("count trace %d: %w", t.id, err)
		}
	}
	return u.writeSeries(ctx)
}

// open finds the traces of rows that are stored.
func (u *uploading) open(ctx context.Context, rows []row) error {
	var ids []string
	for i := range rows {
		if i == 0 || !bytes.Equal(rows[i].GetTraceId(), rows[i-1].GetTraceId()) {
			ids = append(ids, otlp.TraceID(rows[i].Span))
		}
	}
	return eachRow(ctx, u.tx, func(scan func(...any) error) error {
		var id string
		t := &openTrace{uploading: u}
		err := scan(&id, &t.session, &t.id, &t.spans, &t.indexed, &t.next)
		t.next = max(t.next, t.id<<numberBits) + 1
		u.traces[id] = append(u.traces[id], t)
		return err
	}, `SELECT value, session, t.id, spans, indexed, (SELECT coalesce(max(id), 0) FROM spans WHERE id < (t.id + 1) << 24)
		FROM json_each(?) CROSS JOIN traces t WHERE t.trace_id >= value AND t.trace_id < value || 'g' ORDER BY t.id`, rawjson.Encode(ids))
}

// trace returns a session's task in a trace that is stored, or numbers a new one. A span that names
// no session is of any.
func (u *uploading) trace(ctx context.Context, traceID, session string) (t *openTrace, err error) {
	for _, t := range u.traces[traceID] {
		if t.session == session || t.session == "" || session == "" {
			t.session = cmp.Or(t.session, session)
			return t, nil
		}
	}
	if u.newest == 0 {
		// The spans of a removed trace may still have its number.
		err = eachRow(ctx, u.tx, func(scan func(...any) error) error { return scan(&u.newest) },
			`SELECT max(coalesce((SELECT max(id) FROM traces), 0), coalesce((SELECT max(trace) FROM gone), 0))`)
	}
	u.newest++
	t = &openTrace{uploading: u, id: u.newest, session: session, next: u.newest<<numberBits + 1}
	u.traces[traceID] = append(u.traces[traceID], t)
	return t, err
}

// upsert writes a span.
func (t *openTrace) upsert(ctx context.Context, r *row, origin int64) error {
	if r.message == nil {
		var in encoder
		defer func() { r.message = nil; in.release() }()
		if err := r.encode(&in); err != nil {
			return err
		}
	}
	if t.next>>numberBits != t.id {
		return fmt.Errorf("the trace has more than %d spans", 1<<numberBits-2)
	}
	spanID := otlp.SpanID(r.Span)
	if t.indexed > 0 {
		if same, err := t.unchanged(ctx, spanID, r.message, origin); same || err != nil {
			return err
		}
	}
	args := []any{
		t.next, t.id, spanID, otlp.ParentID(r.Span), origin,
		column(r.GetStartTimeUnixNano()), column(r.GetEndTimeUnixNano()), int(r.kind), r.message,
	}
	n, err := affected(ctx, t.tx, insertSpan+`NOTHING`, args)
	if err == nil && n == 0 {
		n, err = affected(ctx, t.tx, upsertSpan, args)
		t.replaced = t.replaced || n > 0
	}
	if err != nil || n == 0 {
		return err
	}
	if err := storeHookRuns(ctx, t.tx, t.next, r.Span); err != nil {
		return err
	}
	for _, id := range step.Of(r.Span).Commits() {
		if _, err := t.tx.ExecContext(ctx, `INSERT OR IGNORE INTO commits (id, span) VALUES (?, ?)`, otlp.ValidText(id), t.next); err != nil {
			return err
		}
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
		h := hookRunOf(step.EventOf(e))
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

// originID finds the row of a resource, or makes it.
func (u *uploading) originID(ctx context.Context, resource []byte) (int64, error) {
	if id, ok := u.origins[string(resource)]; ok {
		return id, nil
	}
	var id int64
	err := eachRow(ctx, u.tx, func(scan func(...any) error) error { return scan(&id) }, `SELECT id FROM origins WHERE message = ?`, resource)
	if err == nil && id == 0 {
		var res sql.Result
		if res, err = u.tx.ExecContext(ctx, `INSERT INTO origins (message) VALUES (?)`, resource); err == nil {
			id, err = res.LastInsertId()
		}
	}
	if err != nil {
		return 0, err
	}
	u.origins[string(resource)] = id
	return id, nil
}

// The columns of a trace that are computed from its spans.
const (
	computedColumns = `trace_id, host, session, title, model, directory, folders, branch, outcome, runs,
		started, ended, spans, tools, tool_failures, tool_denials, tools_unknown, waited, evidence, missing,
		input, output, cache_read, cache_write, cost, facts, requests, stored, waiting`
	computedValues = `?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1`
)

// refresh computes the summary of the trace from its spans.
func (t *openTrace) refresh(ctx context.Context, now time.Time) error {
	d, err := t.digest(ctx)
	if err != nil {
		return err
	}
	first, err := t.first(ctx)
	if err != nil {
		return err
	}
	t.root = first[0]
	s := summarize(d, first)
	d.sum = s
	traceID := TaskID(first[0].Span)
	if len(t.traces[traceID]) > 1 { // No root is stored yet.
		traceID = otlp.TaskID(traceID, spool.SessionKey("", t.session).Name)
	}
	args := append([]any{
		traceID, s.Host, s.Session, s.Title, s.Model, s.Directory, s.folders(), s.Branch, s.Outcome, s.Runs,
		d.started, d.ended, s.Spans, s.Tools, s.ToolFailures, s.ToolDenials, s.ToolsUnknown, int64(s.Waited), s.Evidence, s.Missing,
	}, columns(s.Usage)...)
	args = append(args, d.encode(), append([]byte{}, d.requests...), column(otlp.UnixNano(now)), t.id)
	if t.spans == 0 {
		// One that was removed is no version again that it was before.
		_, err = t.tx.ExecContext(ctx, `INSERT INTO traces (`+computedColumns+`, id, writes) VALUES (`+computedValues+`, ?,
			1 + (SELECT writes FROM removals))`, args...)
		return err
	}
	_, err = t.tx.ExecContext(ctx, `UPDATE traces SET (`+computedColumns+`) = (`+computedValues+`), writes = writes + 1 WHERE id = ?`, args...)
	return err
}

// whole reports that changed are all of the trace's spans.
func (t *openTrace) whole() bool { return t.spans == 0 && !t.replaced }

// first returns what summarize needs of the trace's spans.
func (t *openTrace) first(ctx context.Context) (out []storedSpan, err error) {
	if t.whole() {
		return firstOf(t.changed), nil
	}
	for _, where := range []string{
		`s.trace = ? AND s.role = 1 ORDER BY s.started, s.span_id`,
		`s.trace = ? ORDER BY s.parent_id <> '', s.started, s.span_id LIMIT 1`, // no root is stored yet
	} {
		if out, err = readSpans(ctx, t.tx, where, t.id); len(out) > 0 || err != nil {
			break
		}
	}
	return out, err
}

// firstOf is first of spans that are not stored yet.
func firstOf(spans []*row) (out []storedSpan) {
	order := func(x, y *row) int {
		return cmp.Or(cmp.Compare(column(x.GetStartTimeUnixNano()), column(y.GetStartTimeUnixNano())), bytes.Compare(x.GetSpanId(), y.GetSpanId()))
	}
	roots := slices.DeleteFunc(slices.Clone(spans), func(r *row) bool { return r.kind != step.KindRun })
	slices.SortFunc(roots, order)
	if len(roots) == 0 {
		roots = append(roots, slices.MinFunc(spans, func(x, y *row) int {
			return cmp.Or(cmp.Compare(min(1, len(x.GetParentSpanId())), min(1, len(y.GetParentSpanId()))), order(x, y))
		}))
	}
	for _, r := range roots {
		out = append(out, r.storedSpan)
	}
	return out
}

// digest returns the digest of all spans. If the upload has only added spans, it
// adds them to the stored digest, so that the work does not grow with the trace, unless
// that cannot be read.
func (t *openTrace) digest(ctx context.Context) (*digest, error) {
	if t.replaced {
		return digestOf(ctx, t.tx, t.id)
	}
	d := digest{deep: true}
	if t.spans > 0 {
		var facts []byte
		err := eachRow(ctx, t.tx, func(scan func(...any) error) error { return scan(&d.spans, &d.started, &d.ended, &facts, &d.requests) },
			`SELECT spans, started, ended, facts, requests FROM traces WHERE id = ?`, t.id)
		if err != nil {
			return nil, err
		}
		if new(digestReader).decode(facts, &d) != nil {
			return digestOf(ctx, t.tx, t.id) // another version of hookspan made them
		}
	}
	for _, r := range t.changed {
		d.add(r.Span)
	}
	return &d, nil
}

// digestOf reads all spans of a trace.
func digestOf(ctx context.Context, tx querier, trace int64) (*digest, error) {
	var d digest
	err := eachSpan(ctx, tx, func(_ int64, s *tracepb.Span) error {
		d.add(s)
		return nil
	}, ofTrace, trace)
	return &d, err
}
