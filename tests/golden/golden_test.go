// Package golden_test holds the spans that recorded sessions give against what
// a reader of their payloads expects. testdata/README.md says of each golden
// file why it is right.
package golden_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/otlp/otlpjson"
	"github.com/hookspan/hookspan/internal/testkit/golden"
	"github.com/hookspan/hookspan/internal/testkit/recorded"
	"github.com/hookspan/hookspan/internal/traces/view"
	"github.com/hookspan/hookspan/otelmap"
)

// read reads a session's payloads and the agent's files.
func read(t testing.TB, s recorded.Session) ([]hook.Event, *hook.Transcript) {
	t.Helper()
	events, err := s.Events()
	if err != nil {
		t.Fatal(err)
	}
	tr, err := s.Transcript(t.Context(), events[0].Session)
	if err != nil {
		t.Fatal(err)
	}
	return events, tr
}

func build(events []hook.Event, tr *hook.Transcript) (*otelmap.Builder, []*otelmap.Run) {
	return recorded.Build(events, tr, otelmap.Options{})
}

// encode gives all runs of a session as OTLP JSON, one document a line.
func encode(t testing.TB, b *otelmap.Builder, runs []*otelmap.Run, tr *hook.Transcript) []byte {
	t.Helper()
	var out bytes.Buffer
	for _, r := range runs {
		out.Write(encodeSpans(t, b.Spans(r, tr)))
	}
	return out.Bytes()
}

func encodeSpans(t testing.TB, run *tracepb.ResourceSpans) []byte {
	t.Helper()
	doc, err := otlpjson.Encode([]*tracepb.ResourceSpans{run})
	if err != nil {
		t.Fatal(err)
	}
	return append(doc, '\n')
}

// spansOf returns a run's spans, the root first.
func spansOf(b *otelmap.Builder, r *otelmap.Run, tr *hook.Transcript) []*tracepb.Span {
	return b.Spans(r, tr).GetScopeSpans()[0].GetSpans()
}

// TestRecordedSessions holds the spans of each recorded session, and what hookspan tail prints
// of it.
func TestRecordedSessions(t *testing.T) {
	for _, s := range recorded.Sessions() {
		t.Run(s.Name(), func(t *testing.T) {
			events, tr := read(t, s)
			b, runs := build(events, tr)
			for _, r := range runs {
				if !r.Ended {
					t.Errorf("run %s has not ended", r.ID)
				}
				wellFormed(t, spansOf(b, r, tr))
			}
			golden.Check(t, s.Name()+".txt", append(outline(t, b, runs, tr), tail(events)...))
		})
	}
}

// tail is what hookspan tail prints of events.
func tail(events []hook.Event) string {
	var lines view.EventLines
	out := "hookspan tail:\n"
	for i := range events {
		if l, ok := lines.Of(&events[i]); ok {
			out += view.Event(&l, view.Options{Width: 120, Location: time.UTC}) + "\n"
		}
	}
	return out
}

var spanIDs = regexp.MustCompile(`"(?:[0-9a-f]{16}|[0-9a-f]{32})"`)

// numbered numbers the ids of spans: those of a run depend on which of its events is the first in
// the log.
func numbered(spans []byte) string {
	numbers := make(map[string]int)
	return spanIDs.ReplaceAllStringFunc(string(spans), func(id string) string {
		if _, known := numbers[id]; !known {
			numbers[id] = len(numbers)
		}
		return fmt.Sprintf("%q", fmt.Sprint("id ", numbers[id]))
	})
}

// TestSameSpansWhateverTheOrder delivers each session again with its events
// repeated and in other orders that the hosts can produce: hooks of one moment
// run in parallel, and the SDK runs all but tool hooks detached.
func TestSameSpansWhateverTheOrder(t *testing.T) {
	for _, s := range recorded.Sessions() {
		t.Run(s.Name(), func(t *testing.T) {
			events, tr := read(t, s)
			b, runs := build(events, tr)
			want := encode(t, b, runs, tr)
			rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // A repeatable shuffle.
			for round := range 50 {
				got := reorder(events, rng)
				b, runs := build(got, tr)
				if diff := gocmp.Diff(numbered(want), numbered(encode(t, b, runs, tr))); diff != "" {
					t.Fatalf("round %d: spans differ (-in order +reordered):\n%s", round, diff)
				}
			}
		})
	}
}

// reorder repeats some events and moves each by up to half a second, which is
// more than any hook of the recordings was late. Pi's come through a pipe: those of
// one moment, such as both ends of a call that was blocked, stay in their order.
func reorder(events []hook.Event, rng *rand.Rand) []hook.Event {
	type late struct {
		e  hook.Event
		at time.Time
	}
	var out []late
	for i, e := range events {
		copies := 2
		if e.Time.IsZero() && e.Key == "" {
			copies = 1 // nothing distinguishes such an event from another
		}
		for range 1 + rng.IntN(copies) {
			at := e.At().Add(time.Duration(rng.IntN(500)) * time.Millisecond)
			if i > 0 && e.Host == hook.HostPi && events[i-1].Time.Equal(e.Time) {
				at = out[len(out)-1].at
			}
			out = append(out, late{e, at})
		}
	}
	slices.SortStableFunc(out, func(x, y late) int { return x.at.Compare(y.at) })
	evs := make([]hook.Event, len(out))
	for i := range out {
		evs[i] = out[i].e
		evs[i].Offset = int64(i)
	}
	return evs
}

// TestTotalsAreTheHosts compares the sums over a session's runs with the totals
// that Cline itself keeps.
func TestTotalsAreTheHosts(t *testing.T) {
	type totals struct {
		Input, Output, CacheRead, CacheWrite, Requests int64
		Cost                                           float64
	}
	tests := map[string]totals{
		"classic-session": {5303, 2504, 176098, 17107, 10, 0.17044965},
		// The last request got its usage after Cline had written its own total.
		"e2e-cli2-ok":             {6500 + 1600, 265 + 56, 1500 + 300, 0, 6, 0},
		"e2e-cli3-tools":          {9800, 378, 2100, 0, 7, 0},
		"e2e-cli3-subagent":       {2500 + 2500, 105 + 105, 600 + 600, 0, 4, 0},
		"e2e-cli3-provider-error": {},
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			s, err := recorded.Named(name)
			if err != nil {
				t.Fatal(err)
			}
			events, tr := read(t, s)
			b, runs := build(events, tr)
			var got totals
			for _, r := range runs {
				root := spansOf(b, r, tr)[0]
				for _, kv := range root.Attributes {
					switch kv.Key {
					case otelmap.KeyHostInputTokens:
						got.Input += kv.Value.GetIntValue()
					case otelmap.KeyRunOutputTokens:
						got.Output += kv.Value.GetIntValue()
					case otelmap.KeyRunCacheReadTokens:
						got.CacheRead += kv.Value.GetIntValue()
					case otelmap.KeyRunCacheWriteTokens:
						got.CacheWrite += kv.Value.GetIntValue()
					case otelmap.KeyLLMRequests:
						got.Requests += kv.Value.GetIntValue()
					case otelmap.KeyCost:
						got.Cost += kv.Value.GetDoubleValue()
					}
				}
			}
			if d := got.Cost - want.Cost; d < -1e-12 || d > 1e-12 {
				t.Errorf("cost %.12f, want %.12f", got.Cost, want.Cost)
			}
			got.Cost = want.Cost
			if got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

// wellFormed checks what must hold for any run.
func wellFormed(t *testing.T, spans []*tracepb.Span) {
	t.Helper()
	ids := map[string]bool{}
	for _, s := range spans {
		id := otlp.SpanID(s)
		if ids[id] {
			t.Errorf("span id %s of %q stands twice", id, s.Name)
		}
		ids[id] = true
	}
	for i, s := range spans {
		if otlp.End(s).Before(otlp.Start(s)) {
			t.Errorf("%q ends before it starts", s.Name)
		}
		if i > 0 && !ids[otlp.ParentID(s)] {
			t.Errorf("%q has a parent that is not of its run", s.Name)
		}
		if otlp.TraceID(s) != otlp.TraceID(spans[0]) {
			t.Errorf("%q is of another trace", s.Name)
		}
	}
}
