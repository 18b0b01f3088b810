package main

import (
	"context"
	"fmt"
	"strings"
	"testing"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
)

func TestShowListsTheTracesOfAnAmbiguousID(t *testing.T) {
	a, _, stderr := newTestApp(t, "show", "aabb")
	if code := run(context.Background(), a); code != 1 {
		t.Fatalf("exit code %d without traces", code)
	}
	s, err := store.Open(t.Context(), a.cfg.StorePath())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 12 {
		span := &tracepb.Span{
			Name:              fmt.Sprintf("task\nnumber %d", i),
			StartTimeUnixNano: otlp.UnixNano(a.now()), EndTimeUnixNano: otlp.UnixNano(a.now()),
			TraceId: []byte{0: 0xaa, 1: 0xbb, 15: byte(i)}, SpanId: []byte{1, 7: 0},
		}
		err := s.UploadTraces(t.Context(), []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{span}}}}})
		if err != nil {
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

func TestShowOfACommit(t *testing.T) {
	a, _, stderr := newTestApp(t, "list")
	if code := run(t.Context(), a); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	s, err := store.Open(t.Context(), a.cfg.StorePath())
	if err != nil {
		t.Fatal(err)
	}
	for i, commit := range []string{"aabbc", "aabbd"} {
		span := &tracepb.Span{
			Name: "task " + commit, TraceId: []byte{15: byte(i + 1)}, SpanId: []byte{7: 1},
			StartTimeUnixNano: otlp.UnixNano(a.now()), EndTimeUnixNano: otlp.UnixNano(a.now()),
			Attributes: []*commonpb.KeyValue{otlp.Strings(otelmap.KeyCommits, []string{commit + strings.Repeat("0", 35)})},
		}
		err := s.UploadTraces(t.Context(), []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{span}}}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for commit, want := range map[string]int{"aabbc": 0, "AABBD" + strings.Repeat("0", 35): 0, "aabb": 1, "cc": 1} {
		stderr.Reset()
		if a.args = []string{"show", "--commit", commit}; run(t.Context(), a) != want {
			t.Errorf("show --commit %s: exit code is not %d: %s", commit, want, stderr)
		}
		if commit == "aabb" && stderr.String() != "hookspan: commit aabb: several tasks made commits that begin so\nhint: give more digits, or see hookspan list --commit aabb\n" {
			t.Errorf("show --commit %s: %s", commit, stderr)
		}
	}
}
