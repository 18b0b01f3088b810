package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// TestCountsWhatTheClientSends compares with what the OpenTelemetry client sent.
func TestCountsWhatTheClientSends(t *testing.T) {
	c := &counter{}
	s := httptest.NewServer(c)
	defer s.Close()
	e, err := otlptracehttp.New(t.Context(), otlptracehttp.WithEndpointURL(s.URL+"/v1/traces"))
	if err != nil {
		t.Fatal(err)
	}
	p := sdktrace.NewTracerProvider(sdktrace.WithSyncer(e))
	for range 3 {
		_, span := p.Tracer("test").Start(t.Context(), "a span")
		span.AddEvent("of it")
		span.End()
	}
	if err := p.Shutdown(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	if c.requests.Load() != 3 || c.spans.Load() != 3 || c.bytes.Load() == 0 {
		t.Errorf("counted %d requests, %d spans, %d bytes; want 3, 3 and some", c.requests.Load(), c.spans.Load(), c.bytes.Load())
	}
}

func TestRefusesWhatIsNoRequest(t *testing.T) {
	for name, body := range map[string]string{"text": "hello", "cut off": "\x0a\x20\x12", "a wrong length": "\x0a\x05\x12\x09ab"} {
		w := httptest.NewRecorder()
		(&counter{}).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", bytes.NewReader([]byte(body))))
		if w.Code != http.StatusBadRequest {
			t.Errorf("%s: answered %d, want 400", name, w.Code)
		}
	}
}
