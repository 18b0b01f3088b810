package infiniumexporter

import (
	"compress/gzip"
	"io"
	"net/http"
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
)

// wire is a transport that keeps what the SDK's own exporter would send.
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

func TestASpanIsWhatItWasBeforeItWasSent(t *testing.T) {
	in := everything()
	parts := split(overTheWire(t, in.Snapshots()))
	if len(parts) != 1 || len(parts[0].items) != len(in) {
		t.Fatalf("%d parts", len(parts))
	}
	same := cmp.Options{
		cmp.Comparer(func(a, b attribute.Value) bool { return a.Type() == b.Type() && a.String() == b.String() }),
		cmp.Comparer(func(a, b attribute.Set) bool { return a.Equals(&b) }),
		cmp.Comparer(func(a, b *resource.Resource) bool { return a.Equal(b) && a.SchemaURL() == b.SchemaURL() }),
		cmp.Comparer(func(a, b trace.SpanContext) bool { return a.Equal(b) }),
	}
	var spans []sdktrace.ReadOnlySpan
	for i, it := range parts[0].items {
		s := convert(it)
		spans = append(spans, s)
		want := tracetest.SpanStubFromReadOnlySpan(in[i].Snapshot())
		got := tracetest.SpanStubFromReadOnlySpan(s)
		if d := cmp.Diff(want, got, same); d != "" {
			t.Errorf("span %d (-want +got):\n%s", i, d)
		}
	}
	if d := cmp.Diff(infinium.Traces(in.Snapshots(), infinium.Limits{}), infinium.Traces(spans, infinium.Limits{})); d != "" {
		t.Errorf("Infinium's form (-want +got):\n%s", d)
	}
}

func TestWhatIsSentBackIsWhatCame(t *testing.T) {
	in := overTheWire(t, everything().Snapshots())
	var m ptrace.JSONMarshaler
	want, err := m.MarshalTraces(in)
	if err != nil {
		t.Fatal(err)
	}
	got, err := m.MarshalTraces(merged(split(in)[0].items))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("-came +goes back:\n%s", d)
	}
}
