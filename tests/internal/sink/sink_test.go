package sink_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/hookspan/hookspan/tests/internal/sink"
)

func TestSpansComeAsTheSDKSentThem(t *testing.T) {
	t.Parallel()
	for name, opt := range map[string]otlptracehttp.Option{
		"plain": otlptracehttp.WithCompression(otlptracehttp.NoCompression),
		"gzip":  otlptracehttp.WithCompression(otlptracehttp.GzipCompression),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := new(sink.Sink)
			srv := httptest.NewServer(s)
			t.Cleanup(srv.Close)
			exp, err := otlptracehttp.New(t.Context(), otlptracehttp.WithEndpointURL(srv.URL+"/v1/traces"), opt)
			if err != nil {
				t.Fatal(err)
			}
			tp := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exp),
				sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", "cline"))))
			at := time.Unix(1_800_000_000, 5).UTC()
			ctx, root := tp.Tracer("scope").Start(t.Context(), "root", trace.WithTimestamp(at))
			_, child := tp.Tracer("scope").Start(ctx, "child", trace.WithTimestamp(at), trace.WithSpanKind(trace.SpanKindClient))
			child.SetAttributes(attribute.Int("n", 7), attribute.StringSlice("l", []string{"a", "b"}))
			child.SetStatus(codes.Error, "bad")
			child.AddEvent("hit", trace.WithTimestamp(at))
			child.End(trace.WithTimestamp(at.Add(time.Second)))
			root.End(trace.WithTimestamp(at.Add(2 * time.Second)))
			if err := tp.Shutdown(context.WithoutCancel(t.Context())); err != nil {
				t.Fatal(err)
			}
			res := sink.Attrs{"service.name": "cline"}
			want := []sink.Span{
				{
					Name: "child", Kind: "Client", Start: at, End: at.Add(time.Second), Status: "Error", StatusMessage: "bad", Scope: "scope",
					Attrs: sink.Attrs{"n": int64(7), "l": []any{"a", "b"}}, Resource: res,
					Events: []sink.Event{{Name: "hit", At: at, Attrs: sink.Attrs{}}},
				},
				{Name: "root", Kind: "Internal", Start: at, End: at.Add(2 * time.Second), Status: "Unset", Scope: "scope", Attrs: sink.Attrs{}, Resource: res},
			}
			if err := s.WaitRoots(t.Context(), 1); err != nil {
				t.Error(err)
			}
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			if err := s.WaitRoots(ended, 2); !errors.Is(err, context.Canceled) {
				t.Errorf("waiting for a second trace: %v, want context canceled", err)
			}
			got := s.Spans()
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(sink.Span{}, "TraceID", "SpanID", "ParentID")); diff != "" {
				t.Fatalf("spans (-want +got):\n%s", diff)
			}
			if got[0].ParentID != got[1].SpanID || got[0].TraceID != got[1].TraceID || !got[1].Root() {
				t.Errorf("ids do not tie the spans together: %+v", got)
			}
		})
	}
}

func TestInfiniumBodiesAndStraysAreKept(t *testing.T) {
	t.Parallel()
	s := new(sink.Sink)
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	post := func(path, body string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+path, bytes.NewBufferString(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("x-agent-id", "a1")
		req.Header.Set("x-agent-key", "k1")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	got := []int{post("/api/v1/agents/a1/trace", `{"name":"x"}`), post("/api/v1/agents/a1/trace", `{`), post("/other", ``), post("/v1/traces", "\xff\xff")}
	if diff := cmp.Diff([]int{201, 400, 404, 400}, got); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
	want := []sink.Post{{Agent: "a1", HeaderAgent: "a1", HeaderKey: "k1", Body: []byte(`{"name":"x"}`)}}
	if diff := cmp.Diff(want, s.Posts(), cmpopts.IgnoreFields(sink.Post{}, "At")); diff != "" {
		t.Errorf("posts (-want +got):\n%s", diff)
	}
	if n := len(s.Strays()); n != 3 {
		t.Errorf("%d strays, want 3: %q", n, s.Strays())
	}
}

func TestDecodeReadsAnOTLPDocument(t *testing.T) {
	t.Parallel()
	got, err := sink.Decode([]byte(`{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"x"}}]},"scopeSpans":[{"scope":{"name":"s"},
		"spans":[{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"b7ad6b7169203331","parentSpanId":"00f067aa0ba902b7","name":"n","kind":3,
		"startTimeUnixNano":"5","endTimeUnixNano":"6","status":{"code":2},"unknown":1,"links":[{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"b7ad6b7169203331"}]}]}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	const trace = "0af7651916cd43dd8448eb211c80319c"
	want := []sink.Span{{
		TraceID: trace, SpanID: "b7ad6b7169203331", ParentID: "00f067aa0ba902b7", Name: "n", Kind: "Client", Status: "Error",
		Start: time.Unix(0, 5).UTC(), End: time.Unix(0, 6).UTC(), Attrs: sink.Attrs{}, Resource: sink.Attrs{"service.name": "x"}, Scope: "s",
		Links: []sink.Link{{TraceID: trace, SpanID: "b7ad6b7169203331", Attrs: sink.Attrs{}}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
	if _, err := sink.Decode([]byte("[]")); err == nil {
		t.Error("an array was taken for an OTLP document")
	}
}
