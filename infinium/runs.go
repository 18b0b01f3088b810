package infinium

import (
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/hookspan/hookspan/otelmap"
)

// Run is the spans of one run: what Traces makes one trace of.
type Run struct {
	TraceID trace.TraceID
	// Root is one of Spans, nil when the spans came without the root of their
	// run.
	Root sdktrace.ReadOnlySpan
	// Spans are in the order in which they were given. Of a span given twice
	// the last version stands here, in the place of the first.
	Spans []sdktrace.ReadOnlySpan
}

// Runs sorts finished spans into runs, in the order of Traces. Each span comes
// back as it was given. Exporting each run by itself sends what exporting all
// spans at once would send, and tells of each run whether it was accepted.
func Runs(spans []sdktrace.ReadOnlySpan) []Run {
	grouped := group(spans)
	out := make([]Run, len(grouped))
	for i, r := range grouped {
		out[i] = Run{TraceID: r.traceID, Spans: make([]sdktrace.ReadOnlySpan, len(r.nodes))}
		for k, n := range r.nodes {
			out[i].Spans[k] = n.ReadOnlySpan
			if n == r.root {
				out[i].Root = n.ReadOnlySpan
			}
		}
	}
	return out
}

// IsRoot reports whether the span is the root of a run as far as it tells by
// itself: who waits for the spans of a trace learns from it that one run's end
// has come.
func IsRoot(s sdktrace.ReadOnlySpan) bool {
	n := node{ReadOnlySpan: s, op: operation(s)}
	return n.op == otelmap.OpInvokeAgent && isRoot(&n)
}
