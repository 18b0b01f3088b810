package store

import (
	"cmp"
	"context"
	"slices"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
)

// tracesWith returns what reports whether a trace has a span with all phrases.
func tracesWith(ctx context.Context, q querier, want []phrase) (func(trace int64) (bool, error), error) {
	return func(trace int64) (ok bool, err error) {
		err = eachSpan(ctx, q, func(_ int64, s *tracepb.Span) error {
			ok = ok || snippet(textsOf(s), want) != ""
			return nil
		}, `trace = ?`, trace)
		return ok, err
	}, nil
}

// Search returns the spans of the selected traces that have the filter's Text: of
// the newest trace first, and in it the newest span.
func (s *Store) Search(ctx context.Context, f Filter) (out []Hit, err error) {
	want, err := phrases(f.Text)
	if err != nil {
		return nil, err
	}
	limit := f.limited()
	err = s.scan(ctx, s.db, f, false, func(t *found) error {
		hits, err := hitsIn(ctx, s.db, t, want)
		out = append(out, hits...)
		if limit >= 0 && len(out) >= limit {
			out = out[:limit]
			return enough
		}
		return err
	})
	return out, s.wrap("search", err)
}

// hitsIn returns the hits of a trace.
func hitsIn(ctx context.Context, q querier, t *found, want []phrase) (out []Hit, err error) {
	err = eachSpan(ctx, q, func(_ int64, sp *tracepb.Span) error {
		if text := snippet(textsOf(sp), want); text != "" {
			a := sp.GetAttributes()
			out = append(out, Hit{
				Trace: t.TraceID, Span: otlp.SpanID(sp), Name: sp.GetName(), Tool: otlp.Text(a, otelmap.KeyToolName),
				Role: RoleOf(a), Status: StatusOf(sp), Started: fromColumn(column(sp.GetStartTimeUnixNano())), Snippet: text,
			})
		}
		return nil
	}, `trace = ?`, t.id)
	slices.SortStableFunc(out, newestHit)
	return out, err
}

func newestHit(x, y Hit) int {
	return cmp.Or(y.Started.Compare(x.Started), cmp.Compare(y.Span, x.Span))
}
