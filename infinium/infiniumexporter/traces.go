package infiniumexporter

import (
	"encoding/binary"
	"hash/maphash"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

// item is one span as it came. The pdata belongs to the item: the Collector may
// use the memory of a request again once its push has returned.
type item struct {
	home *home
	span ptrace.Span
	// key tells the spans of a trace apart: the span id, or, for a span without
	// one, its hash.
	key pcommon.SpanID
	// hash is of the whole span, so that a changed span is no repetition.
	hash uint64
}

// home is what the spans of one instrumentation scope share.
type home struct {
	resource    pcommon.Resource
	resourceURL string
	scope       pcommon.InstrumentationScope
	scopeURL    string

	sdkResource *resource.Resource
	sdkScope    instrumentation.Scope
}

// part is what a request holds of one trace.
type part struct {
	trace pcommon.TraceID
	items []*item
}

var seed = maphash.MakeSeed()

// split copies a request and sorts it by trace, in the order in which the traces
// first appear.
func split(td ptrace.Traces) []part {
	var parts []part
	at := make(map[pcommon.TraceID]int)
	scratch := ptrace.NewTraces()
	alone := scratch.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	var marshal ptrace.ProtoMarshaler
	for _, rs := range td.ResourceSpans().All() {
		res := pcommon.NewResource()
		rs.Resource().CopyTo(res)
		sdkResource := resource.NewWithAttributes(rs.SchemaUrl(), attributes(res.Attributes())...)
		for _, ss := range rs.ScopeSpans().All() {
			scope := pcommon.NewInstrumentationScope()
			ss.Scope().CopyTo(scope)
			h := &home{
				resource: res, resourceURL: rs.SchemaUrl(), scope: scope, scopeURL: ss.SchemaUrl(),
				sdkResource: sdkResource,
				sdkScope: instrumentation.Scope{
					Name: scope.Name(), Version: scope.Version(), SchemaURL: ss.SchemaUrl(),
					Attributes: attribute.NewSet(attributes(scope.Attributes())...),
				},
			}
			for _, s := range ss.Spans().All() {
				it := &item{home: h, span: ptrace.NewSpan(), key: s.SpanID()}
				s.CopyTo(it.span)
				s.CopyTo(alone)
				// Marshalling what was decoded before cannot fail; were it to, the
				// span would count as new each time.
				b, _ := marshal.MarshalTraces(scratch)
				it.hash = maphash.Bytes(seed, b)
				if it.key.IsEmpty() {
					binary.BigEndian.PutUint64(it.key[:], it.hash)
				}
				i, ok := at[s.TraceID()]
				if !ok {
					i = len(parts)
					at[s.TraceID()] = i
					parts = append(parts, part{trace: s.TraceID()})
				}
				parts[i].items = append(parts[i].items, it)
			}
		}
	}
	return parts
}

// merged is the items as one request, copied.
func merged(items []*item) ptrace.Traces {
	td := ptrace.NewTraces()
	resources := make(map[*resource.Resource]ptrace.ResourceSpans)
	scopes := make(map[*home]ptrace.ScopeSpans)
	for _, it := range items {
		ss, ok := scopes[it.home]
		if !ok {
			rs, ok := resources[it.home.sdkResource]
			if !ok {
				rs = td.ResourceSpans().AppendEmpty()
				it.home.resource.CopyTo(rs.Resource())
				rs.SetSchemaUrl(it.home.resourceURL)
				resources[it.home.sdkResource] = rs
			}
			ss = rs.ScopeSpans().AppendEmpty()
			it.home.scope.CopyTo(ss.Scope())
			ss.SetSchemaUrl(it.home.scopeURL)
			scopes[it.home] = ss
		}
		it.span.CopyTo(ss.Spans().AppendEmpty())
	}
	return td
}

// converted is an item as the SDK's span. The pointer leads back to the item.
type converted struct {
	sdktrace.ReadOnlySpan
	item *item
}

// convert gives the span as package infinium reads it.
func convert(it *item) *converted {
	s := it.span
	stub := tracetest.SpanStub{
		Name: s.Name(), SpanKind: kind(s.Kind()),
		StartTime: instant(s.StartTimestamp()), EndTime: instant(s.EndTimestamp()),
		Attributes: attributes(s.Attributes()),
		Status:     sdktrace.Status{Code: code(s.Status().Code()), Description: s.Status().Message()},
		SpanContext: spanContext(s.TraceID(), s.SpanID(), s.TraceState(), trace.TraceFlags(s.Flags()&0xff),
			false),
		DroppedAttributes: int(s.DroppedAttributesCount()),
		DroppedEvents:     int(s.DroppedEventsCount()),
		DroppedLinks:      int(s.DroppedLinksCount()),
		Resource:          it.home.sdkResource, InstrumentationScope: it.home.sdkScope,
	}
	if !s.ParentSpanID().IsEmpty() {
		stub.Parent = spanContext(s.TraceID(), s.ParentSpanID(), s.TraceState(), stub.SpanContext.TraceFlags(), remote(s.Flags()))
	}
	for _, e := range s.Events().All() {
		stub.Events = append(stub.Events, sdktrace.Event{
			Name: e.Name(), Time: instant(e.Timestamp()), Attributes: attributes(e.Attributes()),
			DroppedAttributeCount: int(e.DroppedAttributesCount()),
		})
	}
	for _, l := range s.Links().All() {
		stub.Links = append(stub.Links, sdktrace.Link{
			SpanContext: spanContext(l.TraceID(), l.SpanID(), l.TraceState(), trace.TraceFlags(l.Flags()&0xff),
				remote(l.Flags())),
			Attributes: attributes(l.Attributes()), DroppedAttributeCount: int(l.DroppedAttributesCount()),
		})
	}
	return &converted{ReadOnlySpan: stub.Snapshot(), item: it}
}

// Bits of a span's flags in OTLP (trace.proto, SpanFlags): whether it is known
// that the parent, or what a link leads to, is remote, and whether it is.
const (
	flagRemoteKnown = 0x100
	flagRemote      = 0x200
)

func remote(flags uint32) bool {
	return flags&flagRemoteKnown != 0 && flags&flagRemote != 0
}

func spanContext(t pcommon.TraceID, s pcommon.SpanID, state pcommon.TraceState, flags trace.TraceFlags, remote bool) trace.SpanContext {
	// A state that cannot be read says nothing to Infinium.
	ts, _ := trace.ParseTraceState(state.AsRaw())
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID(t), SpanID: trace.SpanID(s), TraceFlags: flags, TraceState: ts, Remote: remote,
	})
}

// instant leaves a time that was not set zero.
func instant(t pcommon.Timestamp) time.Time {
	if t == 0 {
		return time.Time{}
	}
	return t.AsTime()
}

func kind(k ptrace.SpanKind) trace.SpanKind {
	switch k {
	case ptrace.SpanKindInternal:
		return trace.SpanKindInternal
	case ptrace.SpanKindServer:
		return trace.SpanKindServer
	case ptrace.SpanKindClient:
		return trace.SpanKindClient
	case ptrace.SpanKindProducer:
		return trace.SpanKindProducer
	case ptrace.SpanKindConsumer:
		return trace.SpanKindConsumer
	}
	return trace.SpanKindUnspecified
}

// code translates: OTLP and the SDK number the codes differently.
func code(c ptrace.StatusCode) codes.Code {
	switch c {
	case ptrace.StatusCodeOk:
		return codes.Ok
	case ptrace.StatusCodeError:
		return codes.Error
	}
	return codes.Unset
}

func attributes(m pcommon.Map) []attribute.KeyValue {
	if m.Len() == 0 {
		return nil
	}
	out := make([]attribute.KeyValue, 0, m.Len())
	for k, v := range m.All() {
		out = append(out, attribute.KeyValue{Key: attribute.Key(k), Value: value(v)})
	}
	return out
}

func value(v pcommon.Value) attribute.Value {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		return attribute.StringValue(v.Str())
	case pcommon.ValueTypeBool:
		return attribute.BoolValue(v.Bool())
	case pcommon.ValueTypeInt:
		return attribute.Int64Value(v.Int())
	case pcommon.ValueTypeDouble:
		return attribute.Float64Value(v.Double())
	case pcommon.ValueTypeBytes:
		return attribute.ByteSliceValue(v.Bytes().AsRaw())
	case pcommon.ValueTypeMap:
		return attribute.MapValue(attributes(v.Map())...)
	case pcommon.ValueTypeSlice:
		return slice(v.Slice())
	}
	return attribute.Value{}
}

// slice gives the typed form where all elements are of one scalar type, as the
// SDK had them before they were sent.
func slice(s pcommon.Slice) attribute.Value {
	types := make(map[pcommon.ValueType]bool)
	values := make([]attribute.Value, 0, s.Len())
	for _, v := range s.All() {
		types[v.Type()] = true
		values = append(values, value(v))
	}
	if len(types) == 1 {
		switch s.At(0).Type() {
		case pcommon.ValueTypeStr:
			return attribute.StringSliceValue(collect(values, attribute.Value.AsString))
		case pcommon.ValueTypeBool:
			return attribute.BoolSliceValue(collect(values, attribute.Value.AsBool))
		case pcommon.ValueTypeInt:
			return attribute.Int64SliceValue(collect(values, attribute.Value.AsInt64))
		case pcommon.ValueTypeDouble:
			return attribute.Float64SliceValue(collect(values, attribute.Value.AsFloat64))
		}
	}
	return attribute.SliceValue(values...)
}

func collect[T any](values []attribute.Value, get func(attribute.Value) T) []T {
	out := make([]T, len(values))
	for i, v := range values {
		out[i] = get(v)
	}
	return out
}
