package main

import (
	"bytes"
	"context"
	"encoding/gob"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/tests/bench/fleet/crowd"
	"github.com/hookspan/hookspan/tests/internal/built"
	"github.com/hookspan/hookspan/tests/internal/sink"
)

// three developers send two sessions each.
const developers, sessions = 3, 2

func TestEverySpanOfTheCrowdArrivesOnce(t *testing.T) {
	dir := t.TempDir()
	if err := build(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	root, err := built.Root()
	if err != nil {
		t.Fatal(err)
	}
	recordings, err := crowd.Recordings(root)
	if err != nil {
		t.Fatal(err)
	}
	per := spansOf(t, dir, recordings)
	want := 0
	for n := range developers * sessions {
		want += per[n%len(recordings)]
	}
	for name, day := range map[string]bool{"a delivery for each session": false, "a delivery for each developer": true} {
		t.Run(name, func(t *testing.T) {
			s := &sink.Sink{}
			server := httptest.NewServer(s)
			defer server.Close()
			homes := t.TempDir()
			args := []string{"-developers", fmt.Sprint(developers), "-sessions", fmt.Sprint(sessions), "-endpoint", server.URL, "-hookspan", built.Program(dir, "hookspan"), "-dir", homes}
			if day {
				args = append(args, "-day")
			}
			if _, _, err := output(t.Context(), -1, built.Program(dir, "loadgen"), args...); err != nil {
				t.Fatal(err)
			}
			traces := arrivedOnce(t, s, want)
			// A session of each developer's Claude Code has two turns, or one.
			if least := developers * sessions; len(traces) < least {
				t.Errorf("%d traces, want at least one for each of %d sessions", len(traces), least)
			}
		})
	}
}

// spansOf is the number of spans of each recording's session, played alone.
func spansOf(t *testing.T, dir string, recordings []*crowd.Recording) (per []int) {
	t.Helper()
	for i, rec := range recordings {
		p := crowd.Play{Developers: 1, Sessions: 1, First: 1000 + i, Hookspan: built.Program(dir, "hookspan"), Dir: t.TempDir(), Settings: crowd.Settings{Exporters: "otlp"}}
		requests, r, err := p.Capture(t.Context(), []*crowd.Recording{rec})
		if err != nil {
			t.Fatal(err)
		}
		if len(requests) != 1 || r.Spans < 5 || r.Events != rec.Events() {
			t.Errorf("%s: %d requests, %d spans of %d events, want one request and all of %d events", rec.Name, len(requests), r.Spans, r.Events, rec.Events())
		}
		per = append(per, r.Spans)
	}
	return per
}

// arrivedOnce wants as many spans, no id twice and no parent missing, and returns
// the traces.
func arrivedOnce(t *testing.T, s *sink.Sink, want int) map[string]int {
	t.Helper()
	traces, ids := make(map[string]int), make(map[string]bool)
	spans := s.Spans()
	for i := range spans {
		id := spans[i].TraceID + "/" + spans[i].SpanID
		if ids[id] {
			t.Errorf("span %s (%s) came twice", id, spans[i].Name)
		}
		ids[id] = true
		traces[spans[i].TraceID]++
	}
	for i := range spans {
		if p := spans[i].ParentID; p != "" && !ids[spans[i].TraceID+"/"+p] {
			t.Errorf("%s: its parent %s is not there", spans[i].Name, p)
		}
	}
	if len(spans) != want || len(s.Strays()) > 0 {
		t.Errorf("%d spans came, want %d; strays %v", len(spans), want, s.Strays())
	}
	return traces
}

func TestTheSenderSendsTheSameSpansByEveryWay(t *testing.T) {
	dir := t.TempDir()
	if err := build(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	b := &bench{dir: dir}
	if err := b.capture(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Twice each recording and once more the first.
	tasks := 2*b.captured.Sessions + 1
	want := 2*b.captured.Spans + b.kinds[0].spans
	var names []string
	for _, w := range ways[1:] {
		s := &sink.Sink{}
		server := httptest.NewServer(s)
		got, err := b.sender(t.Context(), -1, w.way, tasks, []string{server.URL})
		server.Close()
		if err != nil {
			t.Fatal(err)
		}
		if got.spans != want {
			t.Errorf("%s: says it sent %d spans, want %d", w.way, got.spans, want)
		}
		arrivedOnce(t, s, want)
		count := make(map[string]int)
		for _, span := range s.Spans() {
			count[fmt.Sprint(span.Name, span.Kind, span.Status, span.Attrs, len(span.Events), span.End.Sub(span.Start))]++
		}
		names = append(names, fmt.Sprint(count))
	}
	if names[0] != names[1] || names[0] != names[2] {
		t.Errorf("the ways differ:\n%s\n%s\n%s", names[0], names[1], names[2])
	}
}

func TestAWrongFileIsNamed(t *testing.T) {
	t.Parallel()
	b := &bench{dir: t.TempDir()}
	if err := build(t.Context(), b.dir); err != nil {
		t.Fatal(err)
	}
	b.requests = filepath.Join(b.dir, "requests")
	var empty bytes.Buffer
	if err := gob.NewEncoder(&empty).Encode([][]byte{}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b.requests, empty.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := b.sender(context.Background(), -1, "loop", 1, []string{"http://127.0.0.1:1"}); err == nil || !strings.Contains(err.Error(), "holds no request") {
		t.Errorf("error %v, want one that says the file holds no request", err)
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ args, want string }{
		{"-developers ten", `-developers "ten": want numbers`},
		{"-part speed", `-part "speed": want some of tasks,rates,costs,memory,queue,plan`},
		{"-tasks 1", "-tasks 1 and 0 arguments: want at least 100"},
		{"-publish -developers 10", "would leave rows out"},
		{"now", "1 arguments"},
	} {
		if _, _, err := parse(strings.Fields(tt.args)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want one with %q", tt.args, err, tt.want)
		}
	}
	o, chosen, err := parse([]string{"-publish", "-part", "memory,rates"})
	if err != nil || len(chosen) != 2 || chosen[0].Name != "memory" || len(o.developers) != 3 {
		t.Errorf("%+v, %d parts: %v", o, len(chosen), err)
	}
}

func TestCallsAreSummed(t *testing.T) {
	t.Parallel()
	text := "# TYPE agent_calls_total counter\nagent_calls_total{a=\"x}y\",b=\"1\"} 40\nagent_calls_total{a=\"z\"} 2e+00\nagent_duration_count{a=\"z\"} 9\n"
	if n, err := calls(text); err != nil || n != 42 {
		t.Errorf("sum %d (%v), want 42", n, err)
	}
	if _, err := calls("agent_calls_total{} many\n"); err == nil {
		t.Error("a value that is no number was taken")
	}
}

func TestPlanFollowsItsFormulas(t *testing.T) {
	t.Parallel()
	b := &bench{bytes: 7000, captured: crowd.Result{Sessions: 1, Spans: 10}}
	if _, err := plan(t.Context(), b, options{}); err == nil || !strings.Contains(err.Error(), "costs, memory and queue") {
		t.Errorf("without facts: error %v, want one that says what to run", err)
	}
	b.facts = facts{gateway: 50e-6, idle: 64 << 20, held: 4096, spool: 1000, gatewayQueue: 3000}
	text, err := plan(t.Context(), b, options{})
	if err != nil {
		t.Fatal(err)
	}
	// 100,000 developers with 40 tasks of 10 spans: 40 million a day, 4,167 a second.
	for _, want := range []string{
		"| 3 times the mean of 8 working hours | 4,170 | 41,700 |", "| CPU per span, measured | 0.2 | 2.1 |", "one that may fail | 2 | 3 |",
		"| spans of 6 s undecided, bytes per span measured | 113 MiB | 390 MiB |", "| bytes per kept span, measured | 18 GB | 180 GB |",
		"| hookspan's log, measured | 400 kB | 4 MB |", "| 10 requests a second, documented | 2,400 | 2,400 |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the plan lacks %q:\n%s", want, text)
		}
	}
}

func TestRounded(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{0: "0", 999: "999", 29_848: "29,800", 1_234_567: "1,230,000"} {
		if got := rounded(v); got != want {
			t.Errorf("%g is written %s, want %s", v, got, want)
		}
	}
}
