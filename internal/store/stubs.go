package store

import (
	"context"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
)

// This file goes when all callers use OTLP messages.

// ExportSpans is UploadTraces for callers with SDK spans.
func (s *Store) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	return otlptrace.NewUnstarted(s).ExportSpans(ctx, spans)
}

// Shutdown closes the store.
func (s *Store) Shutdown(context.Context) error { return s.Close() }

// Stubs returns the trace's spans as the SDK has them, by start.
func (t *Trace) Stubs() tracetest.SpanStubs {
	var out tracetest.SpanStubs
	for _, rs := range t.ResourceSpans {
		res := resource.NewWithAttributes(rs.GetSchemaUrl(), sdkAttributes(rs.GetResource().GetAttributes())...)
		for _, ss := range rs.GetScopeSpans() {
			scope := instrumentation.Scope{
				Name: ss.GetScope().GetName(), Version: ss.GetScope().GetVersion(), SchemaURL: ss.GetSchemaUrl(),
				Attributes: attribute.NewSet(sdkAttributes(ss.GetScope().GetAttributes())...),
			}
			for _, s := range ss.GetSpans() {
				stub := sdkSpan(s)
				stub.Resource, stub.InstrumentationScope = res, scope
				out = append(out, stub)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b tracetest.SpanStub) int { return a.StartTime.Compare(b.StartTime) })
	return out
}

func sdkSpan(s *tracepb.Span) tracetest.SpanStub {
	out := tracetest.SpanStub{
		Name: s.GetName(), SpanKind: trace.SpanKind(s.GetKind()),
		SpanContext: sdkContext(s.GetTraceId(), s.GetSpanId(), s.GetTraceState(), s.GetFlags(), false),
		StartTime:   otlp.Start(s), EndTime: otlp.End(s), Attributes: sdkAttributes(s.GetAttributes()),
		DroppedAttributes: int(s.GetDroppedAttributesCount()), DroppedEvents: int(s.GetDroppedEventsCount()),
		DroppedLinks: int(s.GetDroppedLinksCount()),
		Status:       sdktrace.Status{Description: s.GetStatus().GetMessage()},
	}
	switch s.GetStatus().GetCode() {
	case tracepb.Status_STATUS_CODE_OK:
		out.Status.Code = codes.Ok
	case tracepb.Status_STATUS_CODE_ERROR:
		out.Status.Code = codes.Error
	}
	if len(s.GetParentSpanId()) > 0 {
		out.Parent = sdkContext(s.GetTraceId(), s.GetParentSpanId(), "", s.GetFlags(), s.GetFlags()&0x200 != 0)
	}
	for _, e := range s.GetEvents() {
		out.Events = append(out.Events, sdktrace.Event{
			Name: e.GetName(), Time: otlp.Time(e.GetTimeUnixNano()), Attributes: sdkAttributes(e.GetAttributes()),
			DroppedAttributeCount: int(e.GetDroppedAttributesCount()),
		})
	}
	for _, l := range s.GetLinks() {
		out.Links = append(out.Links, sdktrace.Link{
			SpanContext: sdkContext(l.GetTraceId(), l.GetSpanId(), l.GetTraceState(), l.GetFlags(), l.GetFlags()&0x200 != 0),
			Attributes:  sdkAttributes(l.GetAttributes()), DroppedAttributeCount: int(l.GetDroppedAttributesCount()),
		})
	}
	return out
}

func sdkContext(tid, sid []byte, state string, flags uint32, remote bool) trace.SpanContext {
	c := trace.SpanContextConfig{TraceFlags: trace.TraceFlags(flags & 0xff), Remote: remote}
	copy(c.TraceID[:], tid)
	copy(c.SpanID[:], sid)
	c.TraceState, _ = trace.ParseTraceState(state)
	return trace.NewSpanContext(c)
}

func sdkAttributes(kvs []*commonpb.KeyValue) []attribute.KeyValue {
	var out []attribute.KeyValue
	for _, kv := range kvs {
		out = append(out, attribute.KeyValue{Key: attribute.Key(kv.GetKey()), Value: sdkValue(kv.GetValue())})
	}
	return out
}

func sdkValue(v *commonpb.AnyValue) attribute.Value {
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
		return attribute.MapValue(sdkAttributes(v.KvlistValue.GetValues())...)
	case *commonpb.AnyValue_ArrayValue:
		var values []attribute.Value
		var texts []string
		for _, e := range v.ArrayValue.GetValues() {
			values = append(values, sdkValue(e))
			if s, ok := e.GetValue().(*commonpb.AnyValue_StringValue); ok {
				texts = append(texts, s.StringValue)
			}
		}
		if len(texts) == len(values) && len(texts) > 0 {
			return attribute.StringSliceValue(texts)
		}
		return attribute.SliceValue(values...)
	}
	return attribute.Value{}
}
