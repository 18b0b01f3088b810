package infinium

import (
	"cmp"
	"slices"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap/step"
)

// Session joins the runs of one session into one run, which Traces maps to one
// trace. The first span of each run is its root, as otelmap gives them; the runs
// are in the order in which they began, and no two spans have the same id. A run
// given twice counts once, in its last version; one without spans does not count.
//
// The joined root has the trace id, the span id and the parent of the first
// run's root, so that the same runs always give the same ids, and all spans of
// the other runs are below it. It lasts from the first start to the last end, and
// has the status of the last run, and attributes and events of all roots as step.Runs joins them.
//
// Session is pure and does not change its argument.
func Session(runs []*tracepb.ResourceSpans) *tracepb.ResourceSpans {
	var kept []*tracepb.ResourceSpans
	at := make(map[spanKey]int, len(runs))
	for i, r := range runs {
		for root := range otlp.Spans(runs[i : i+1]) {
			n, ok := at[keyOf(root)]
			if !ok {
				n = len(kept)
				at[keyOf(root)] = n
				kept = append(kept, nil)
			}
			kept[n] = r
			break
		}
	}
	if len(kept) == 0 {
		return nil
	}
	turns := make(step.Runs, len(kept))
	for i := range kept {
		turns[i] = slices.Collect(otlp.Spans(kept[i : i+1]))
	}
	last := kept[len(kept)-1]
	scope := last.GetScopeSpans()[0]
	return &tracepb.ResourceSpans{
		Resource: last.GetResource(), SchemaUrl: last.GetSchemaUrl(),
		ScopeSpans: []*tracepb.ScopeSpans{{Scope: scope.GetScope(), SchemaUrl: scope.GetSchemaUrl(), Spans: join(turns)}},
	}
}

// join returns the joined root and then all other spans, moved into its trace, in
// the order of their start.
func join(turns step.Runs) []*tracepb.Span {
	first, root := turns[0][0], proto.CloneOf(turns[len(turns)-1][0])
	root.Attributes = turns.Attributes()
	if len(turns) == 1 {
		return append([]*tracepb.Span{root}, turns[0][1:]...)
	}
	root.Name, root.TraceId, root.SpanId, root.TraceState = first.Name, first.TraceId, first.SpanId, first.TraceState
	root.ParentSpanId, root.Flags = first.ParentSpanId, first.Flags
	root.Events, root.Links = turns.Events(), nil
	roots := make(map[spanKey]bool, len(turns))
	for _, turn := range turns {
		roots[keyOf(turn[0])] = true
	}
	var below []*tracepb.Span
	for _, turn := range turns {
		root.StartTimeUnixNano = earlier(root.StartTimeUnixNano, turn[0].StartTimeUnixNano)
		root.EndTimeUnixNano = max(root.EndTimeUnixNano, turn[0].EndTimeUnixNano)
		for _, l := range turn[0].Links {
			if !roots[spanKey{string(l.GetTraceId()), string(l.GetSpanId())}] {
				root.Links = append(root.Links, l)
			}
		}
		for _, s := range turn[1:] {
			moved := proto.CloneOf(s)
			if roots[spanKey{string(s.TraceId), string(s.ParentSpanId)}] {
				moved.ParentSpanId = root.SpanId
			}
			moved.TraceId = root.TraceId
			below = append(below, moved)
		}
	}
	slices.SortStableFunc(below, func(x, y *tracepb.Span) int { return cmp.Compare(x.StartTimeUnixNano, y.StartTimeUnixNano) })
	return append([]*tracepb.Span{root}, below...)
}
