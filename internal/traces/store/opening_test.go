package store

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"

	"github.com/hookspan/hookspan/otelmap"
)

// TestOpening has sessions of two agents in two folders, whose tasks are stored in any order.
func TestOpening(t *testing.T) {
	s := open(t)
	add := func(name, session, host, dir string, after time.Duration, source string, requests ...[]*commonpb.KeyValue) {
		b := newBuild(name)
		root := b.Root("do it", otelmap.OutcomeCompleted, time.Minute, str(otelmap.KeyConversationID, session), str(otelmap.KeyHost, host), str(otelmap.KeyWorkingDirectory, dir), str(otelmap.KeySessionSource, source))
		for i, usage := range requests {
			b.Chat(root, time.Duration(i)*time.Second, time.Duration(i+1)*time.Second, usage...)
		}
		for _, span := range b.Spans {
			kept := span.Attributes[:0]
			seen := make(map[string]bool)
			for i := len(span.Attributes) - 1; i >= 0; i-- { // the last of a name counts
				if a := span.Attributes[i]; !seen[a.Key] {
					seen[a.Key] = true
					kept = append([]*commonpb.KeyValue{a}, kept...)
				}
			}
			span.Attributes = kept
			for _, id := range [][]byte{span.SpanId, span.ParentSpanId} { // not those of another trace
				if len(id) > 0 {
					copy(id[1:], name)
				}
			}
			span.StartTimeUnixNano += uint64(after)
			span.EndTimeUnixNano += uint64(after)
		}
		upload(t, s, b.Messages())
	}
	const h = time.Hour
	add("b2", "b", "claude-code", "/shop", 5*h, "", usageAttrs(90_000, 10, 80_000, 0.1))
	add("b1", "b", "claude-code", "/shop", 4*h, "startup", usageAttrs(14_000, 10, 12_000, 0.1), usageAttrs(15_000, 10, 14_000, 0.1))
	add("a1", "a", "claude-code", "/shop", 1*h, "startup", usageAttrs(10_000, 10, 0, 0.1), usageAttrs(11_000, 10, 10_000, 0.1))
	add("a2", "a", "claude-code", "/shop", 6*h, "resume", usageAttrs(50_000, 10, 0, 0.1))
	add("c1", "c", "codex", "/shop", 3*h, "startup", usageAttrs(7_000, 10, 0, 0.1))
	add("d1", "d", "claude-code", "/else", 3*h, "startup", usageAttrs(8_000, 10, 0, 0.1))
	add("e1", "e", "claude-code", "/shop", 7*h, "resume", usageAttrs(60_000, 10, 0, 0.1))
	add("f1", "f", "claude-code", "/shop", 8*h, "startup", nil, usageAttrs(9_000, 10, 0, 0.1))
	add("g1", "g", "claude-code", "/shop", 9*h, "startup", usageAttrs(16_000, 10, 8_000, 0.1))
	cached := func(n int64) *int64 { return &n }
	a := &Opening{Session: "a", Input: 10_000, Cached: cached(0)}
	want := map[string]*Opening{
		"a": a, "b": {Session: "b", Input: 14_000, Cached: cached(12_000), Previous: a},
		"c": {Session: "c", Input: 7_000}, "d": {Session: "d", Input: 8_000},
		"e": nil, "f": nil, // continued, and not known
		"g": {Session: "g", Input: 16_000, Cached: cached(8_000)}, // the one before is not known
	}
	got := make(map[string]*Opening)
	err := s.EachWork(t.Context(), Filter{}, nil, func(w *Work) error {
		o, err := s.Opening(t.Context(), w)
		for at := o; at != nil; at = at.Previous {
			if at.Started.IsZero() || at.Model == "" {
				t.Errorf("%s: no time or model: %+v", w.Summary.Session, at)
			}
			at.Started, at.Model = time.Time{}, ""
		}
		if before, ok := got[w.Summary.Session]; ok && !cmp.Equal(before, o) {
			t.Errorf("%s: the tasks of a session differ: %+v, %+v", w.Summary.Session, before, o)
		}
		got[w.Summary.Session] = o
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n, err := s.Prune(t.Context(), t0.Add(24*h)); err != nil || n == 0 {
		t.Fatalf("%d removed, %v", n, err)
	}
	w := &Work{Summary: Summary{TraceID: "x", Session: "b", Host: "claude-code", Started: t0}, Requests: []Request{{Usage: &Usage{Input: 5}}}}
	if o, err := s.Opening(t.Context(), w); o != nil || err != nil {
		t.Errorf("of a session whose beginning was removed: %+v, %v", o, err)
	}
	w.Summary.Session = "new"
	if o, err := s.Opening(t.Context(), w); o == nil || err != nil || o.Input != 5 {
		t.Errorf("of a session that is not stored yet: %+v, %v", o, err)
	}
}
