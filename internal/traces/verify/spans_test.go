package verify

import (
	"fmt"
	"slices"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/otelmap/step"
)

// rootSpan makes the span of a run, in seconds of a day.
func rootSpan(from, to float64, outcome string) *tracepb.Span {
	when := func(seconds float64) uint64 {
		return otlp.UnixNano(time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC).Add(time.Duration(seconds * float64(time.Second))))
	}
	return &tracepb.Span{
		SpanId: fmt.Appendf(nil, "%08.0f", 1000*from), StartTimeUnixNano: when(from), EndTimeUnixNano: when(to),
		Attributes: []*commonpb.KeyValue{
			otlp.String(otelmap.KeyOperation, otelmap.OpInvokeAgent), otlp.String(otelmap.KeyHost, "h"), otlp.String(otelmap.KeyOutcome, outcome),
		},
	}
}

func resource(spans ...*tracepb.Span) *tracepb.ResourceSpans {
	return &tracepb.ResourceSpans{ScopeSpans: []*tracepb.ScopeSpans{{Spans: spans}}}
}

// set replaces or adds an attribute, drop removes one.
func set(s *tracepb.Span, kv *commonpb.KeyValue) {
	drop(s, kv.Key)
	s.Attributes = append(s.Attributes, kv)
}

func drop(s *tracepb.Span, key string) {
	s.Attributes = slices.DeleteFunc(s.Attributes, func(a *commonpb.KeyValue) bool { return a.Key == key })
}

// tool finds a call of a tool, role a span of a role.
func tool(name string) func(*tracepb.Span) bool {
	return func(s *tracepb.Span) bool { return otlp.Text(s.Attributes, otelmap.KeyToolName) == name }
}

func role(k step.Kind) func(*tracepb.Span) bool {
	return func(s *tracepb.Span) bool { return step.Of(s).Kind() == k }
}

// succeed and fail change how an operation ended.
func succeed(s *tracepb.Span) {
	s.Status = nil
	drop(s, otelmap.KeyErrorType)
}

func fail(kind string) func(*tracepb.Span) {
	return func(s *tracepb.Span) {
		s.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR}
		set(s, otlp.String(otelmap.KeyErrorType, kind))
	}
}

func isPrompt(e *tracepb.Span_Event) bool { return step.EventOf(e).Prompt() }
