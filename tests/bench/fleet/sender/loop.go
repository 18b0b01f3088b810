package main

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// loop makes spans with the SDK and sends them where they are made: what a
// program does that traces itself, and no more. It is its own span processor.
type loop struct {
	ctx      context.Context //nolint:containedctx // The SDK gives OnEnd none.
	exporter sdktrace.SpanExporter
	tracers  []trace.Tracer // by task
	tasks    [][]span
	// size is the number of spans in a request; 0 for those of a task.
	size            int
	waiting         []sdktrace.ReadOnlySpan
	requests, spans int
	err             error
}

// span is what a span is made from. Its parent comes before it in its task.
type span struct {
	name       string
	parent     int // in the task; -1 for none
	start, end time.Time
	options    []trace.SpanStartOption
	attributes []attribute.KeyValue
	events     []event
	code       codes.Code
	message    string
}

type event struct {
	name    string
	options []trace.EventOption
}

func newLoop(ctx context.Context, endpoint string, recorded [][]byte, size int) (*loop, error) {
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(endpoint))
	if err != nil {
		return nil, err
	}
	l := &loop{ctx: ctx, exporter: exporter, size: size}
	for _, body := range recorded {
		var req collectorpb.ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &req); err != nil {
			return nil, err
		}
		var made []*tracepb.Span
		var res *resource.Resource
		var scope *tracepb.ScopeSpans
		for _, rs := range req.GetResourceSpans() {
			res = resource.NewSchemaless(pairs(rs.GetResource().GetAttributes())...)
			for _, scope = range rs.GetScopeSpans() {
				made = append(made, scope.GetSpans()...)
			}
		}
		p := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(l), sdktrace.WithResource(res))
		l.tracers = append(l.tracers, p.Tracer(scope.GetScope().GetName(), trace.WithInstrumentationVersion(scope.GetScope().GetVersion()),
			trace.WithSchemaURL(scope.GetSchemaUrl())))
		l.tasks = append(l.tasks, family(made))
	}
	return l, nil
}

// family puts parents before their children.
func family(spans []*tracepb.Span) []span {
	var out []span
	at := make(map[trace.SpanID]int)
	known := make(map[trace.SpanID]bool)
	for _, s := range spans {
		known[spanID(s.GetSpanId())] = true
	}
	for len(out) < len(spans) {
		for _, s := range spans {
			id, parent := spanID(s.GetSpanId()), spanID(s.GetParentSpanId())
			_, done := at[id]
			above, ready := at[parent]
			if done || known[parent] && !ready {
				continue
			}
			if !known[parent] {
				above = -1
			}
			at[id] = len(out)
			out = append(out, like(s, above))
		}
	}
	return out
}

// spanID is all zeros for an id that is not there.
func spanID(b []byte) (id trace.SpanID) {
	copy(id[:], b)
	return id
}

func like(s *tracepb.Span, parent int) span {
	when := func(nanos uint64) time.Time { return time.Unix(0, int64(nanos)) } //nolint:gosec // Times of this century.
	out := span{
		name: s.GetName(), parent: parent, start: when(s.GetStartTimeUnixNano()), end: when(s.GetEndTimeUnixNano()),
		attributes: pairs(s.GetAttributes()), message: s.GetStatus().GetMessage(),
	}
	if s.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR {
		out.code = codes.Error
	}
	kind := trace.SpanKindInternal
	if s.GetKind() == tracepb.Span_SPAN_KIND_CLIENT {
		kind = trace.SpanKindClient
	}
	out.options = append(out.options, trace.WithSpanKind(kind), trace.WithTimestamp(out.start))
	for _, link := range s.GetLinks() {
		out.options = append(out.options, trace.WithLinks(trace.Link{
			SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID(link.GetTraceId()), SpanID: trace.SpanID(link.GetSpanId())}),
			Attributes:  pairs(link.GetAttributes()),
		}))
	}
	for _, e := range s.GetEvents() {
		out.events = append(out.events, event{e.GetName(), []trace.EventOption{
			trace.WithTimestamp(when(e.GetTimeUnixNano())), trace.WithAttributes(pairs(e.GetAttributes())...),
		}})
	}
	return out
}

func pairs(all []*commonpb.KeyValue) []attribute.KeyValue {
	var out []attribute.KeyValue
	for _, kv := range all {
		k := attribute.Key(kv.GetKey())
		switch v := kv.GetValue().GetValue().(type) {
		case *commonpb.AnyValue_StringValue:
			out = append(out, k.String(v.StringValue))
		case *commonpb.AnyValue_IntValue:
			out = append(out, k.Int64(v.IntValue))
		case *commonpb.AnyValue_DoubleValue:
			out = append(out, k.Float64(v.DoubleValue))
		case *commonpb.AnyValue_BoolValue:
			out = append(out, k.Bool(v.BoolValue))
		case *commonpb.AnyValue_ArrayValue:
			var texts []string
			for _, e := range v.ArrayValue.GetValues() {
				texts = append(texts, e.GetStringValue())
			}
			out = append(out, k.StringSlice(texts))
		}
	}
	return out
}

func (l *loop) send(ctx context.Context, n int) error {
	task, tracer := l.tasks[n%len(l.tasks)], l.tracers[n%len(l.tasks)]
	within := make([]context.Context, len(task))
	made := make([]trace.Span, len(task))
	for i := range task {
		above := ctx
		if s := &task[i]; s.parent >= 0 {
			above = within[s.parent]
		}
		within[i], made[i] = begun(above, tracer, &task[i])
	}
	for i := len(task) - 1; i >= 0; i-- {
		made[i].End(trace.WithTimestamp(task[i].end))
	}
	if l.size == 0 {
		l.export()
	}
	return l.err
}

func begun(ctx context.Context, tracer trace.Tracer, like *span) (context.Context, trace.Span) {
	ctx, s := tracer.Start(ctx, like.name, like.options...)
	s.SetAttributes(append([]attribute.KeyValue(nil), like.attributes...)...)
	for _, e := range like.events {
		s.AddEvent(e.name, e.options...)
	}
	s.SetStatus(like.code, like.message)
	return ctx, s
}

func (l *loop) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

func (l *loop) OnEnd(s sdktrace.ReadOnlySpan) {
	l.waiting = append(l.waiting, s)
	if l.size > 0 && len(l.waiting) >= l.size {
		l.export()
	}
}

func (l *loop) export() {
	if len(l.waiting) == 0 || l.err != nil {
		return
	}
	if l.err = l.exporter.ExportSpans(l.ctx, l.waiting); l.err == nil {
		l.requests++
		l.spans += len(l.waiting)
	}
	l.waiting = l.waiting[:0]
}

func (l *loop) end(context.Context) error {
	l.export()
	return l.err
}

func (l *loop) sent() (requests, spans int) { return l.requests, l.spans }

func (l *loop) ForceFlush(context.Context) error { return l.err }
func (l *loop) Shutdown(context.Context) error   { return nil }
