package otelmap

import (
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
)

// spansOf returns a run's spans, the root first.
func spansOf(b *Builder, r *Run, tr *hook.Transcript) []*tracepb.Span {
	return b.Spans(r, tr).GetScopeSpans()[0].GetSpans()
}

// traceparent returns the context of a span as a W3C header.
func traceparent(s *tracepb.Span) string {
	return "00-" + otlp.TraceID(s) + "-" + otlp.SpanID(s) + "-01"
}

// turnAgent is an agent that numbers its turns.
var turnAgent = Traits{Turns: true, Shared: true, MaxInput: 500, MaxOutput: 500, ToolError: ErrorToolFailure, Provider: "anthropic"}
