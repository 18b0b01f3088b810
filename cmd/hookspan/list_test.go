package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/hookspan/hookspan/internal/store"
)

func TestAnAmbiguousIdListsItsTracesOneToALine(t *testing.T) {
	a, _, stderr := newTestApp(t, "show", "aabb")
	if code := run(context.Background(), a); code != 1 {
		t.Fatalf("exit code %d without traces", code)
	}
	s, err := store.Open(t.Context(), a.cfg.StorePath())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 12 {
		spans := tracetest.SpanStubs{{
			Name: fmt.Sprintf("task\nnumber %d", i), StartTime: a.now(), EndTime: a.now(),
			SpanContext: trace.NewSpanContext(trace.SpanContextConfig{
				TraceID: trace.TraceID{0: 0xaa, 1: 0xbb, 15: byte(i)}, SpanID: trace.SpanID{1},
			}),
		}}
		if err := s.ExportSpans(t.Context(), spans.Snapshots()); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	stderr.Reset()
	if code := run(context.Background(), a); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
	if len(lines) != 13 || lines[0] != `hookspan: several traces begin with "aabb":` || lines[11] != "  and others" || lines[12] != "hint: give more digits" {
		t.Errorf("%d lines:\n%s", len(lines), stderr)
	}
	for _, l := range lines[1:11] {
		if !strings.HasPrefix(l, "  aabb0000000000000000") || !strings.Contains(l, "number") {
			t.Errorf("line %q", l)
		}
	}
}

func TestJoinedErrorsAreOneLine(t *testing.T) {
	one, two := errors.New("first"), errors.New("second")
	for want, err := range map[string]error{
		"first":                          one,
		"first; second":                  errors.Join(one, two),
		"rules: first; second":           fmt.Errorf("rules: %w", errors.Join(one, two)),
		"first; more: second; first":     errors.Join(one, fmt.Errorf("more: %w", errors.Join(two, one))),
		"first and second":               fmt.Errorf("%w and %w", one, two),
		"a file named \"x\\ny\": second": fmt.Errorf("a file named %q: %w", "x\ny", two),
	} {
		if got := message(err); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
