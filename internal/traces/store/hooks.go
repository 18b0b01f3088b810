package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/otelmap/step"
)

// HookRuns returns the runs of the user's hooks in the selected traces, the newest
// first. The filter's Failed, Denied and Tool select among the hook runs.
func (s *Store) HookRuns(ctx context.Context, f Filter) (out []HookRun, err error) {
	of := f
	of.Failed, of.Denied, of.Tool = false, false, ""
	err = s.read(ctx, of, func(q querier) error {
		out, err = runsOfHooks(ctx, q, f, of)
		return err
	})
	return out, s.wrap("read hook runs", err)
}

// DeniedCalls returns, by trace, the calls in these traces that were denied or cancelled,
// the oldest first. Of the filter only the Tool counts.
func (s *Store) DeniedCalls(ctx context.Context, f Filter, in []Summary) (map[string][]*tracepb.Span, error) {
	ids := make([]string, len(in))
	for i := range in {
		ids[i] = `"` + in[i].TraceID + `"`
	}
	out := make(map[string][]*tracepb.Span)
	var message sql.RawBytes
	err := s.read(ctx, Filter{}, func(q querier) error {
		return eachRow(ctx, q, func(scan func(...any) error) error {
			var id string
			if err := scan(&id, &message); err != nil {
				return err
			}
			sp := new(tracepb.Span)
			if err := proto.Unmarshal(message, sp); err != nil {
				return fmt.Errorf("%w: span: %w", errUndecodable, err)
			}
			if one := step.Of(sp); one.Counted() == otelmap.EndDenied && (f.Tool == "" || SameTool(one.Tool(), f.Tool)) {
				out[id] = append(out[id], sp)
			}
			return nil
		}, `SELECT t.trace_id, s.message FROM traces t CROSS JOIN spans s ON s.trace = t.id WHERE t.trace_id IN `+inList+` AND s.role = ? ORDER BY s.started, s.span_id`,
			"["+strings.Join(ids, ",")+"]", step.KindTool)
	})
	return out, s.wrap("read denied calls", err)
}

// HookRunsOf returns the runs of the user's hooks in a trace that is not stored.
func HookRunsOf(t *Trace) (out []HookRun) {
	for sp := range otlp.Spans(t.ResourceSpans) {
		for e := range step.Of(sp).Events() {
			if e.Name() == otelmap.EventHook {
				h := hookRunOf(e)
				h.Trace, h.Span, h.Session, h.Host, h.Directory = t.TraceID, otlp.SpanID(sp), t.Session, t.Host, t.Directory
				out = append(out, h)
			}
		}
	}
	return out
}

// runsOfHooks returns the runs that f selects in the traces that of selects.
func runsOfHooks(ctx context.Context, from querier, f, of Filter) (out []HookRun, err error) {
	var selected map[int64]bool
	if of.byDigest() || of.Text != "" {
		ids, err := of.ids(ctx, from, -1)
		if err != nil {
			return nil, err
		}
		selected = make(map[int64]bool)
		for _, id := range ids {
			selected[id] = true
		}
	}
	where, args := of.where()
	conditions := []string{strings.TrimPrefix(where, ` WHERE `)}
	if where == "" {
		conditions = nil
	}
	if f.Denied {
		conditions = append(conditions, `h.decision IN ('deny', 'block')`)
	}
	if f.Failed {
		conditions = append(conditions, `h.status IN ('error', 'timeout', 'not_started')`)
	}
	q := `SELECT t.id, t.trace_id, s.span_id, t.session, t.host, t.directory,
			h.event, h.tool, h.command, h.source, h.status, h.decision, h.reason, h.started, h.took
		FROM hook_runs h CROSS JOIN spans s ON s.id = h.span CROSS JOIN traces t ON t.id = s.trace`
	if len(conditions) > 0 {
		q += ` WHERE ` + strings.Join(conditions, ` AND `)
	}
	limit := f.limited()
	err = eachRow(ctx, from, func(scan func(...any) error) error {
		var h HookRun
		var trace, started, took int64
		err := scan(&trace, &h.Trace, &h.Span, &h.Session, &h.Host, &h.Directory,
			&h.Event, &h.Tool, &h.Command, &h.Source, &h.Status, &h.Decision, &h.Reason, &started, &took)
		if err != nil || selected != nil && !selected[trace] || f.Tool != "" && !SameTool(h.Tool, f.Tool) {
			return err
		}
		h.Started, h.Took = fromColumn(started), time.Duration(took)
		if out = append(out, h); len(out) == limit {
			return ErrEnough
		}
		return nil
	}, q+` ORDER BY h.started DESC, h.span DESC, h.number DESC`, args...)
	if errors.Is(err, ErrEnough) {
		err = nil
	}
	return out, err
}
