package infiniumexporter

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/hookspan/hookspan/infinium"
	"github.com/hookspan/hookspan/internal/otlp"
)

// wire is a transport that keeps the body that the SDK's OTLP exporter sends.
type wire struct{ body []byte }

func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	var body io.Reader = req.Body
	if req.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(req.Body)
		if err != nil {
			return nil, err
		}
		body = z
	}
	b, err := io.ReadAll(body)
	w.body = b
	res := says(http.StatusOK, "")
	res.Header.Set("Content-Type", "application/x-protobuf")
	return res, err
}

// overTheWire gives spans as a Collector receives them.
func overTheWire(t *testing.T, spans []sdktrace.ReadOnlySpan) ptrace.Traces {
	t.Helper()
	w := &wire{}
	e, err := otlptracehttp.New(t.Context(), otlptracehttp.WithHTTPClient(&http.Client{Transport: w}), otlptracehttp.WithEndpointURL("http://collector.invalid/v1/traces"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Shutdown(t.Context()) }()
	if err := e.ExportSpans(t.Context(), spans); err != nil {
		t.Fatal(err)
	}
	var u ptrace.ProtoUnmarshaler
	td, err := u.UnmarshalTraces(w.body)
	if err != nil {
		t.Fatal(err)
	}
	return td
}

func context1(span uint64, remote bool) trace.SpanContext {
	state, _ := trace.ParseTraceState("vendor=1")
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID(traceOf(1)), SpanID: trace.SpanID(spanOf(span)), TraceFlags: trace.FlagsSampled, TraceState: state, Remote: remote,
	})
}

// everything is spans that use each member a span has.
func everything() tracetest.SpanStubs {
	at := time.Date(2026, 4, 18, 10, 0, 0, 123456789, time.UTC)
	res := resource.NewWithAttributes("https://example.com/resource", attribute.String("service.name", "cline"))
	scope := instrumentation.Scope{Name: "scope", Version: "1.2", SchemaURL: "https://example.com/scope", Attributes: attribute.NewSet(attribute.Int("n", 1))}
	return tracetest.SpanStubs{
		{
			Name: "invoke_agent cline", SpanKind: trace.SpanKindInternal, SpanContext: context1(1, false), Parent: context1(9, true),
			StartTime: at, EndTime: at.Add(time.Minute), Resource: res, InstrumentationScope: scope,
			Attributes: []attribute.KeyValue{
				attribute.String("gen_ai.operation.name", "invoke_agent"), attribute.String("hookspan.host", "cline"),
				attribute.Bool("b", true), attribute.Int64("i", -3), attribute.Float64("f", 1.5),
				attribute.StringSlice("ss", []string{"a", ""}), attribute.Int64Slice("is", []int64{1, 2}),
				attribute.Float64Slice("fs", []float64{0.5}), attribute.BoolSlice("bs", []bool{true, false}),
				{Key: "bytes", Value: attribute.ByteSliceValue([]byte{0, 255})},
				{Key: "map", Value: attribute.MapValue(attribute.String("k", "v"))},
				{Key: "mixed", Value: attribute.SliceValue(attribute.StringValue("x"), attribute.IntValue(2))},
			},
			Events: []sdktrace.Event{{Name: "hookspan.prompt", Time: at.Add(time.Second), Attributes: []attribute.KeyValue{attribute.String("hookspan.text", "do it")}, DroppedAttributeCount: 2}},
			Links:  []sdktrace.Link{{SpanContext: context1(8, true).WithTraceState(trace.TraceState{}), Attributes: []attribute.KeyValue{attribute.String("why", "before")}, DroppedAttributeCount: 1}},
			Status: sdktrace.Status{Code: codes.Error, Description: "failed"}, DroppedAttributes: 1, DroppedEvents: 2, DroppedLinks: 3,
		},
		{
			Name: "execute_tool read_file", SpanKind: trace.SpanKindClient, SpanContext: context1(2, false), Parent: context1(1, false),
			StartTime: at, EndTime: at.Add(time.Second), Resource: res, InstrumentationScope: scope, Status: sdktrace.Status{Code: codes.Ok},
			Attributes: []attribute.KeyValue{attribute.String("gen_ai.operation.name", "execute_tool"), attribute.String("gen_ai.tool.name", "read_file")},
		},
	}
}

func TestSplitKeepsEverySpan(t *testing.T) {
	got := parts(overTheWire(t, everything().Snapshots()))
	if len(got) != 1 || len(got[0].items) != len(everything()) {
		t.Fatalf("%d parts", len(got))
	}
	s := got[0].items[0].span
	if s.Name != "invoke_agent cline" || len(s.Attributes) != 12 || len(s.Events) != 1 || len(s.Links) != 1 || !infinium.IsRoot(s) {
		t.Errorf("got %v", s)
	}
}

func TestSplitRepairsInvalidUTF8(t *testing.T) {
	r := newRequest().root(1, 1).tool(1, 2, 1)
	s := r.spans.At(0)
	s.SetName("invoke_agent \xff")
	s.Attributes().PutStr("bad\xffkey", "bad\xfevalue")
	s.Attributes().PutEmptyBytes("bytes").Append(0xff, 0)
	s.Attributes().PutEmptyMap("map").PutEmptySlice("list").AppendEmpty().SetStr("\xc0deep")
	s.Status().SetMessage("\xffstatus")
	s.Attributes().PutDouble("f", 1.5)
	items := parts(r.Traces)[0].items
	if len(items) != 2 {
		t.Fatalf("%d items, want 2", len(items))
	}
	got := items[0].span
	read := func(key string) string { return otlp.Format(otlp.Find(got.Attributes, key)) }
	have := []string{got.Name, read("bad\uFFFDkey"), read("bytes"), read("map"), got.Status.Message, read("f"), read("hookspan.host")}
	want := []string{"invoke_agent \uFFFD", "bad\uFFFDvalue", "/wA=", "{\"list\":[\"\uFFFDdeep\"]}", "\uFFFDstatus", "1.5", "cline"}
	if d := cmp.Diff(want, have); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got := otlp.SpanID(items[1].span); got != "0000000000000002" {
		t.Errorf("the second span is %s", got)
	}
}

// BenchmarkRequest is what a request of 1,000 spans costs until it is sent.
func BenchmarkRequest(b *testing.B) {
	td := benchRequest()
	b.ReportAllocs()
	for b.Loop() {
		for _, p := range parts(td) {
			infinium.Runs(together(p.items))
		}
	}
}

func benchRequest() ptrace.Traces {
	r := newRequest()
	for trace := range uint64(10) {
		r.root(trace+1, 1)
		for i := range uint64(99) {
			r.tool(trace+1, i+2, 1)
			a := r.spans.At(r.spans.Len() - 1).Attributes()
			a.PutStr("gen_ai.tool.call.arguments", strings.Repeat("x", 200))
			a.PutStr("gen_ai.tool.call.result", strings.Repeat("y", 300))
			a.PutInt("hookspan.tool.host_duration_ms", 12)
		}
	}
	return r.Traces
}

func TestReturnedSpansEqualReceivedOnes(t *testing.T) {
	in := overTheWire(t, everything().Snapshots())
	var m ptrace.JSONMarshaler
	want, err := m.MarshalTraces(in)
	if err != nil {
		t.Fatal(err)
	}
	got, err := m.MarshalTraces(rest(parts(in)[0].items))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("returned spans (-received +returned):\n%s", d)
	}
}
