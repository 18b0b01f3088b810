package store

import (
	"cmp"
	"context"
	"slices"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap/step"
)

// Search returns the spans of the selected traces that have the filter's Text: of
// the newest trace first, and in it the newest span.
func (s *Store) Search(ctx context.Context, f Filter) (out []Hit, err error) {
	want, err := phrases(f.Text)
	if err != nil {
		return nil, err
	}
	limit := f.limited()
	err = s.read(ctx, f, func(q querier) error {
		return f.inOrder(ctx, q, -1, func(t found) error {
			hits, err := hitsIn(ctx, q, t.TraceID, t.spans, want)
			out = append(out, hits...)
			if err == nil && limit >= 0 && len(out) >= limit {
				out, err = out[:limit], ErrEnough
			}
			return err
		})
	})
	return out, s.wrap("search", err)
}

// hitsIn returns the hits in spans of a task.
func hitsIn(ctx context.Context, q querier, task string, spans []int64, want []phrase) (out []Hit, err error) {
	err = eachSpan(ctx, q, func(_ int64, sp *tracepb.Span) error {
		out = addHit(out, task, sp, want)
		return nil
	}, `id IN `+inList, list(spans))
	slices.SortStableFunc(out, newestHit)
	return out, err
}

// Hits returns the newest spans of a running task that have the filter's Text.
func (f Filter) Hits(t *Trace) (out []Hit) {
	want, err := phrases(f.Text)
	if f.Text == "" || err != nil {
		return nil
	}
	for sp := range otlp.Spans(t.ResourceSpans) {
		out = addHit(out, t.TraceID, sp, want)
	}
	slices.SortStableFunc(out, newestHit)
	return out[:min(len(out), maxPageHits)]
}

// addHit appends a span's hit if it has what is wanted.
func addHit(to []Hit, task string, sp *tracepb.Span, want []phrase) []Hit {
	text := snippet(textsOf(sp), want)
	if text == "" {
		return to
	}
	one := step.Of(sp)
	return append(to, Hit{
		Trace: task, Span: otlp.SpanID(sp), Name: sp.GetName(), Tool: one.Tool(),
		Kind: one.Kind(), Status: one.End(), Started: fromColumn(column(sp.GetStartTimeUnixNano())), Snippet: text,
	})
}

func newestHit(x, y Hit) int {
	return cmp.Or(y.Started.Compare(x.Started), cmp.Compare(y.Span, x.Span))
}
