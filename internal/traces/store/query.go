package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/otelmap/step"
	"github.com/hookspan/hookspan/spool"
)

// DefaultLimit is how many traces List returns if the filter has no limit.
const DefaultLimit = 20

// Trace is a stored trace.
type Trace struct {
	Summary
	// ResourceSpans holds all spans, those of one resource and scope together,
	// in the order of their start; of spans with one start, those that end later
	// come first.
	ResourceSpans []*tracepb.ResourceSpans
}

// Trace returns the trace whose id begins with prefix as Summary.Is describes, at least four hex
// digits of either case, or the newest trace for the empty prefix. It fails with
// ErrNotFound, ErrPrefix or an *AmbiguousError.
func (s *Store) Trace(ctx context.Context, prefix string) (t *Trace, err error) {
	err = s.readTrace(ctx, prefix, func(tx *sql.Tx, id int64, sum Summary) error {
		t, err = withSpans(ctx, tx, id, sum)
		return err
	})
	return t, err
}

// readTrace calls f with the trace whose id begins with prefix, in a transaction, so
// that the summary fits the spans.
func (s *Store) readTrace(ctx context.Context, prefix string, f func(tx *sql.Tx, id int64, sum Summary) error) error {
	if err := checkPrefix(prefix); err != nil {
		return err
	}
	tx, err := s.begin(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return s.wrap("read trace", err)
	}
	defer rollback(tx)

	where, args, limit := ``, []any(nil), 1
	if prefix != "" {
		where, args = ofTask(prefix)
		where, limit = `WHERE `+where, maxCandidates+1
	}
	found, ids, err := summaries(ctx, tx, where+` ORDER BY started DESC, trace_id DESC LIMIT ?`, append(args, limit)...)
	switch {
	case err != nil:
		return s.wrap("find trace", err)
	case len(found) == 0 && prefix == "":
		return fmt.Errorf("trace store %q: %w: it is empty", s.path, ErrNotFound)
	case len(found) == 0:
		return fmt.Errorf("trace store %q: %w: none begins with %q", s.path, ErrNotFound, prefix)
	case len(found) > 1:
		n := min(len(found), maxCandidates)
		return &AmbiguousError{Prefix: prefix, Candidates: found[:n], More: n < len(found)}
	}
	return s.wrap("read trace "+found[0].TraceID, f(tx, ids[0], found[0]))
}

func withSpans(ctx context.Context, tx querier, id int64, sum Summary) (*Trace, error) {
	spans, err := readSpans(ctx, tx, `s.trace = ? ORDER BY s.started, s.ended DESC, s.span_id`, id)
	return &Trace{Summary: sum, ResourceSpans: grouped(spans)}, err
}

// traceByID returns a trace, nil if it is not there any more.
func (s *Store) traceByID(ctx context.Context, id int64) (*Trace, error) {
	tx, err := s.begin(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, s.wrap("read trace", err)
	}
	defer rollback(tx)
	found, _, err := summaries(ctx, tx, `WHERE id = ?`, id)
	if err != nil || len(found) == 0 {
		return nil, s.wrap("read trace", err)
	}
	t, err := withSpans(ctx, tx, id, found[0])
	return t, s.wrap("read trace "+t.TraceID, err)
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

// TaskID returns the id of the task, as in Summary, of which the span is a root, or the only
// one if no root is known.
func TaskID(root *tracepb.Span) string {
	one, id := step.Of(root), otlp.TraceID(root)
	if one.Kind() != step.KindRun || len(root.GetParentSpanId()) == 0 {
		return id
	}
	return otlp.TaskID(id, spool.SessionKey("", one.Session()).Name)
}

// Is reports whether the task's id begins with a prefix of either case. The digits behind a dash
// begin those for the session, also behind a shorter prefix of the trace's id.
func (s *Summary) Is(prefix string) bool {
	trace, part, _ := strings.Cut(strings.ToLower(prefix), "-")
	_, session, _ := strings.Cut(s.TraceID, "-")
	return strings.HasPrefix(s.TraceID, trace) && strings.HasPrefix(session, part)
}

// ShortID is what a list shows of a task's id: of the digits for the session, if it has them, four.
func ShortID(task string) string {
	trace, session, several := strings.Cut(termtext.Line(task), "-")
	trace = termtext.Head(trace, 8)
	if several {
		trace += "-" + termtext.Head(session, 4)
	}
	return trace
}

// ofTask is the condition Is. The range is what the index can look up; "g" comes after every digit.
func ofTask(prefix string) (condition string, args []any) {
	trace, part, _ := strings.Cut(strings.ToLower(prefix), "-")
	return `t.trace_id >= ? AND t.trace_id < ? AND substr(t.trace_id, 34, ?) = ?`, []any{trace, trace + "g", len(part), part}
}

// IsPrefix reports whether a text may begin a task's id.
func IsPrefix(p string) bool {
	trace, part, _ := strings.Cut(strings.ToLower(p), "-")
	return len(trace) >= 4 && len(trace) <= 32 && len(part) <= 8 && strings.Trim(trace+part, "0123456789abcdef") == ""
}

func checkPrefix(p string) error {
	switch {
	case p == "":
		return nil
	case !IsPrefix(p):
		return fmt.Errorf("trace id %q: %w", p, ErrPrefix)
	}
	return nil
}

const summaryColumns = `trace_id, host, session, title, model, directory, folders, branch, outcome, runs, started, ended, spans,
	tools, tool_failures, tool_denials, tools_unknown, waited, evidence, missing, input, output, cache_read, cache_write, cost`

// summaries returns the traces that a condition selects, and their ids.
func summaries(ctx context.Context, q querier, where string, args ...any) (out []Summary, ids []int64, err error) {
	err = eachRow(ctx, q, func(scan func(...any) error) error {
		var t Summary
		var id int64
		err := scanSummary(func(targets ...any) error { return scan(append(targets, &id)...) }, &t)
		out, ids = append(out, t), append(ids, id)
		return err
	}, `SELECT `+summaryColumns+`, id FROM traces t `+where, args...)
	return out, ids, err
}

// scanSummary reads summaryColumns.
func scanSummary(scan func(...any) error, t *Summary) error {
	var started, ended int64
	var usage usageColumns
	var folders string
	err := scan(append([]any{
		&t.TraceID, &t.Host, &t.Session, &t.Title, &t.Model, &t.Directory, &folders, &t.Branch, &t.Outcome, &t.Runs,
		&started, &ended, &t.Spans, &t.Tools, &t.ToolFailures, &t.ToolDenials, &t.ToolsUnknown, &t.Waited, &t.Evidence, &t.Missing,
	}, usage.targets()...)...)
	t.Started, t.Ended, t.Usage = fromColumn(started), fromColumn(ended), usage.usage()
	t.Folders = slices.Collect(rawjson.Strings([]byte(folders)))
	return err
}

// HostVersion returns the version of an agent program that its newest trace names, "" if it
// names none.
func (s *Store) HostVersion(ctx context.Context, host string) (version string, err error) {
	list, err := s.List(ctx, Filter{Host: host, Limit: 1})
	for _, t := range list {
		err = s.Messages(ctx, t.TraceID, func(Summary) {}, func(_ int64, message []byte) error {
			span := new(tracepb.Span)
			err := proto.Unmarshal(message, span)
			version = cmp.Or(version, step.Of(span).HostVersion())
			return err
		})
	}
	return version, err
}

// Writes returns a number for each trace, by id, that is another one after each upload that changed
// it, also after it was removed. What is kept of a trace is of one of them.
func (s *Store) Writes(ctx context.Context, ids ...string) (map[string]int64, error) {
	out := make(map[string]int64, len(ids))
	err := eachRow(ctx, &s.queries, func(scan func(...any) error) error {
		var id string
		var n int64
		err := scan(&id, &n)
		out[id] = n
		return err
	}, `SELECT trace_id, writes FROM traces WHERE trace_id IN `+inList, rawjson.Encode(ids))
	return out, s.wrap("count writes", err)
}

// Size returns how many bytes the store has on the disk.
func (s *Store) Size(context.Context) (bytes int64, err error) {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(s.path + suffix)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return 0, s.wrap("measure", err)
		default:
			bytes += info.Size()
		}
	}
	return bytes, nil
}
