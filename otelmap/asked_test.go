package otelmap

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/termtext"
)

// TestRunWithoutPromptHasTheSessionsFirstPromptAsTask reads the log whole and from
// behind its first run, which must give the same.
func TestRunWithoutPromptHasTheSessionsFirstPromptAsTask(t *testing.T) {
	long := strings.Repeat("word ", 100)
	injected := prompt(11, "[SYSTEM] go on")
	injected.Attrs = []hook.Attr{{Key: KeyPromptInjected, Value: true}}
	tests := []struct {
		name   string
		o      Options
		first  hook.Event
		second []hook.Event
		files  []hook.Prompt
		want   string
	}{
		{"resumed without a word", Options{}, prompt(1, "Fix it"), []hook.Event{ev(10, hook.KindRunResume), prompt(11, "")}, nil, "Fix it"},
		{"no prompt at all", Options{}, prompt(1, "Fix it"), []hook.Event{tool(10, hook.KindToolEnd, "a", "")}, nil, "Fix it"},
		{"only one of the host's", Options{}, prompt(1, "Fix it"), []hook.Event{ev(10, hook.KindRunStart), injected}, nil, "Fix it"},
		{"resumed with a word", Options{}, prompt(1, "Fix it"), []hook.Event{ev(10, hook.KindRunResume), prompt(11, "Go on")}, nil, "Go on"},
		{"a long one", Options{}, prompt(1, long), []hook.Event{ev(10, hook.KindRunResume)}, nil, termtext.Cut(long, 200)},
		{"only in the host's files", Options{}, ev(1, hook.KindNotification), []hook.Event{ev(10, hook.KindRunResume)}, []hook.Prompt{{Text: ""}, {Text: "Fix it"}, {Text: "Now this"}}, "Fix it"},
		{"nowhere", Options{}, ev(1, hook.KindNotification), []hook.Event{ev(10, hook.KindRunResume)}, nil, ""},
		{"no texts", Options{Capture: CaptureNone}, prompt(1, "Fix it"), []hook.Event{ev(10, hook.KindRunResume)}, []hook.Prompt{{Text: "Fix it"}}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tr := &hook.Transcript{Prompts: tt.files}
			events := logged(append([]hook.Event{ev(0, hook.KindRunStart), tt.first, ev(2, hook.KindRunComplete)}, tt.second...)...)
			whole := build(tt.o, Carry{}, events)
			runs := whole.Runs(far)
			if len(runs) != 2 {
				t.Fatalf("%d runs, want 2", len(runs))
			}
			want := whole.Spans(runs[1], tr)
			if got := value(want.ScopeSpans[0].Spans[0], KeyInputValue); got != tt.want {
				t.Errorf("task %q, want %q", got, tt.want)
			}
			off, carry := whole.Boundary(func(id RunID) bool { return id == runs[0].ID }, int64(len(events)*100))
			if off != 300 {
				t.Fatalf("reading starts again at %d, want 300", off)
			}
			later := build(tt.o, carry, events[3:])
			if d := cmp.Diff(plain(want), plain(later.Spans(later.Runs(far)[0], tr))); d != "" {
				t.Errorf("spans (-read whole +read from behind the first run):\n%s", d)
			}
		})
	}
	// A capture level that was lowered since holds for what the carry kept.
	b := build(Options{Capture: CaptureNone}, Carry{Runs: 1, Task: "Fix it"}, logged(ev(10, hook.KindRunResume)))
	if got := value(spansOf(b, b.Runs(far)[0], nil)[0], KeyInputValue); got != "" {
		t.Errorf("task %q in spite of %s", got, CaptureNone)
	}
}

// TestRequestBeginsAfterItsPrompt has requests that begin, by the
// host's files, with the message that the host wrote before its hooks ran.
func TestRequestBeginsAfterItsPrompt(t *testing.T) {
	const start, done = hook.KindRunStart, hook.KindRunComplete
	injected := prompt(1, "[SYSTEM] go on")
	injected.Attrs = []hook.Attr{{Key: KeyPromptInjected, Value: true}}
	tests := []struct {
		name       string
		events     []hook.Event
		begin, end float64
		want       time.Duration
	}{
		{"the message is older than the run", []hook.Event{ev(0, start), prompt(1, "x"), ev(9, done)}, -0.5, 3, time.Second},
		{"the message is older than the prompt", []hook.Event{ev(0, start), prompt(1, "x"), ev(9, done)}, 0.5, 3, time.Second},
		{"begun after it", []hook.Event{ev(0, start), prompt(1, "x"), ev(9, done)}, 2, 3, 2 * time.Second},
		{"answered before it", []hook.Event{ev(0, start), prompt(2, "x"), ev(9, done)}, 0.5, 1, 500 * time.Millisecond},
		{"typed while the agent worked", []hook.Event{ev(0, start), tool(1, hook.KindToolEnd, "a", ""), prompt(2, "x"), ev(9, done)}, 0.5, 3, 500 * time.Millisecond},
		{"written by the host", []hook.Event{ev(0, start), injected, ev(9, done)}, 0.5, 3, 500 * time.Millisecond},
		{"no prompt", []hook.Event{ev(0, start), ev(9, done)}, -0.5, 3, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tr := &hook.Transcript{Requests: []hook.Request{{ID: "c", Start: ev(tt.begin, 0).Time, End: ev(tt.end, 0).Time, Model: "m"}}}
			b := build(Options{}, Carry{}, logged(tt.events...))
			for _, s := range spansOf(b, b.Runs(far)[0], tr) {
				if value(s, KeyOperation) != OpChat {
					continue
				}
				if got := otlp.Start(s).Sub(epoch); got != tt.want || !otlp.End(s).Equal(ev(tt.end, 0).Time) {
					t.Errorf("from %v to %v, want from %v", got, otlp.End(s).Sub(epoch), tt.want)
				}
				return
			}
			t.Error("no request")
		})
	}
}
