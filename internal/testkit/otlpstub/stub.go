// Package otlpstub converts OTLP messages into the SDK's spans, for tests and
// benchmarks that compare with the SDK.
package otlpstub

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
)

// Stubs converts messages.
func Stubs(messages ...*tracepb.ResourceSpans) tracetest.SpanStubs {
	var out tracetest.SpanStubs
	for _, rs := range messages {
		res := resource.NewWithAttributes(rs.GetSchemaUrl(), attributes(rs.GetResource().GetAttributes())...)
		for _, ss := range rs.GetScopeSpans() {
			scope := instrumentation.Scope{
				Name: ss.GetScope().GetName(), Version: ss.GetScope().GetVersion(), SchemaURL: ss.GetSchemaUrl(),
				Attributes: attribute.NewSet(attributes(ss.GetScope().GetAttributes())...),
			}
			for _, s := range ss.GetSpans() {
				out = append(out, stub(s, res, scope))
			}
		}
	}
	return out
}

func stub(s *tracepb.Span, res *resource.Resource, scope instrumentation.Scope) tracetest.SpanStub {
	stub := tracetest.SpanStub{
		Name: s.GetName(), SpanKind: trace.SpanKind(s.GetKind()),
		SpanContext:       spanContext(s.GetTraceId(), s.GetSpanId(), s.GetTraceState(), s.GetFlags(), false),
		StartTime:         otlp.Start(s),
		EndTime:           otlp.End(s),
		Attributes:        attributes(s.GetAttributes()),
		DroppedAttributes: int(s.GetDroppedAttributesCount()),
		DroppedEvents:     int(s.GetDroppedEventsCount()),
		DroppedLinks:      int(s.GetDroppedLinksCount()),
		Resource:          res, InstrumentationScope: scope,
	}
	switch s.GetStatus().GetCode() {
	case tracepb.Status_STATUS_CODE_OK:
		stub.Status.Code = codes.Ok
	case tracepb.Status_STATUS_CODE_ERROR:
		stub.Status.Code = codes.Error
	}
	stub.Status.Description = s.GetStatus().GetMessage()
	const remote = uint32(tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK)
	if len(s.GetParentSpanId()) > 0 {
		stub.Parent = spanContext(s.GetTraceId(), s.GetParentSpanId(), s.GetTraceState(), s.GetFlags(), s.GetFlags()&remote != 0)
	}
	for _, e := range s.GetEvents() {
		stub.Events = append(stub.Events, sdktrace.Event{
			Name: e.GetName(), Time: otlp.Time(e.GetTimeUnixNano()), Attributes: attributes(e.GetAttributes()),
			DroppedAttributeCount: int(e.GetDroppedAttributesCount()),
		})
	}
	for _, l := range s.GetLinks() {
		stub.Links = append(stub.Links, sdktrace.Link{
			SpanContext: spanContext(l.GetTraceId(), l.GetSpanId(), l.GetTraceState(), l.GetFlags(), l.GetFlags()&remote != 0),
			Attributes:  attributes(l.GetAttributes()), DroppedAttributeCount: int(l.GetDroppedAttributesCount()),
		})
	}
	return stub
}

func spanContext(t, s []byte, state string, flags uint32, remote bool) trace.SpanContext {
	c := trace.SpanContextConfig{TraceFlags: trace.TraceFlags(flags & 0xff), Remote: remote}
	copy(c.TraceID[:], t)
	copy(c.SpanID[:], s)
	c.TraceState, _ = trace.ParseTraceState(state)
	return trace.NewSpanContext(c)
}

func attributes(in []*commonpb.KeyValue) []attribute.KeyValue {
	if len(in) == 0 {
		return nil
	}
	out := make([]attribute.KeyValue, len(in))
	for i, kv := range in {
		out[i] = attribute.KeyValue{Key: attribute.Key(kv.GetKey()), Value: Value(kv.GetValue())}
	}
	return out
}

// Value converts the value of an attribute.
func Value(v *commonpb.AnyValue) attribute.Value {
	switch v := v.GetValue().(type) {
	case *commonpb.AnyValue_StringValue:
		return attribute.StringValue(v.StringValue)
	case *commonpb.AnyValue_BoolValue:
		return attribute.BoolValue(v.BoolValue)
	case *commonpb.AnyValue_IntValue:
		return attribute.Int64Value(v.IntValue)
	case *commonpb.AnyValue_DoubleValue:
		return attribute.Float64Value(v.DoubleValue)
	case *commonpb.AnyValue_BytesValue:
		return attribute.ByteSliceValue(v.BytesValue)
	case *commonpb.AnyValue_KvlistValue:
		return attribute.MapValue(attributes(v.KvlistValue.GetValues())...)
	case *commonpb.AnyValue_ArrayValue:
		var texts []string
		var values []attribute.Value
		for _, e := range v.ArrayValue.GetValues() {
			values = append(values, Value(e))
			if _, ok := e.GetValue().(*commonpb.AnyValue_StringValue); ok {
				texts = append(texts, e.GetStringValue())
			}
		}
		if len(texts) == len(values) {
			return attribute.StringSliceValue(texts)
		}
		return attribute.SliceValue(values...)
	}
	return attribute.Value{}
}
