package deliver

import (
	"cmp"
	"context"
	"os"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
)

func TestRunningRunsHaveTheIDsThatTheyWillEndWith(t *testing.T) {
	b := newBench(t)
	kept := &memory{}
	d := b.claudeDeliverer(nil, Destination{Name: "store", Client: kept})
	running := func() []*tracepb.ResourceSpans {
		t.Helper()
		out, err := d.Running(t.Context(), "store")
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if got := running(); len(got) > 0 {
		t.Fatalf("%d runs in an empty spool", len(got))
	}
	first, second := turn("p1"), turn("p2")
	k := b.append(append(first, second[:2]...)...)
	b.clock.Advance(10 * time.Second)
	touch(t, b.path(k, "events.json-seq"), b.clock.Now())

	// The first turn has ended and waits to be delivered; of the second the tool runs.
	outcome := func(rs *tracepb.ResourceSpans) (text string) {
		for s := range otlp.Spans([]*tracepb.ResourceSpans{rs}) {
			text = cmp.Or(otlp.Text(s.Attributes, otelmap.KeyOutcome), text)
		}
		return text
	}
	got := running() // which began at one time
	if len(got) != 2 || outcome(got[0]) != otelmap.OutcomeCompleted {
		t.Fatalf("%d running runs, want the first turn's and the second's", len(got))
	}
	root, tool := got[1].ScopeSpans[0].Spans[0], got[1].ScopeSpans[0].Spans[1]
	for name, s := range map[string]*tracepb.Span{"root": root, "tool": tool} {
		if s.Status.GetCode() == tracepb.Status_STATUS_CODE_ERROR || !otlp.Time(s.EndTimeUnixNano).Equal(b.clock.Now()) {
			t.Errorf("%s: status %v, end %v, want none and now, %v", name, s.Status, otlp.Time(s.EndTimeUnixNano), b.clock.Now())
		}
	}
	if got := otlp.Text(root.Attributes, otelmap.KeyOutcome); got != otelmap.OutcomeRunning {
		t.Errorf("outcome %q, want running", got)
	}
	if got := otlp.Text(tool.Attributes, otelmap.KeyToolOutcome); got != otelmap.ToolOutcomeRunning {
		t.Errorf("outcome of the tool %q, want running", got)
	}
	if len(kept.spans) > 0 {
		t.Error("to look at what runs has delivered something")
	}
	b.run(d, Pass{})
	delivered := len(kept.spans)
	if again := running(); len(again) != 1 || delivered != 2 {
		t.Fatalf("%d running, %d spans delivered, want 1 and the first turn's 2", len(again), delivered)
	}

	b.append(second[2:]...)
	b.clock.Advance(10 * time.Second)
	touch(t, b.path(k, "events.json-seq"), b.clock.Now())
	if again := running(); len(again) != 1 || outcome(again[0]) != otelmap.OutcomeCompleted {
		t.Errorf("%d running runs after the end, want the one that waits to be delivered", len(again))
	}
	b.clock.Advance(2 * undecided)
	touch(t, b.path(k, "events.json-seq"), b.clock.Now())
	if again := running(); len(again) > 0 {
		t.Errorf("%d running runs long after the end", len(again))
	}
	b.run(d, Pass{})
	if again := running(); len(again) > 0 {
		t.Errorf("%d running runs after the delivery", len(again))
	}
	for _, s := range []*tracepb.Span{root, tool} {
		if kept.spans[idOf(s)] == nil {
			t.Errorf("%s ran under another id than it was delivered with", s.Name)
		}
	}
	if len(kept.spans) != 4 {
		t.Errorf("%d spans, want 4", len(kept.spans))
	}
}

func TestSilentRunsDoNotRun(t *testing.T) {
	b := newBench(t)
	d := b.claudeDeliverer(nil, Destination{Name: "store", Client: &memory{}})
	k := b.append(turn("p1")[:2]...)
	touch(t, b.path(k, "events.json-seq"), b.clock.Now())
	b.clock.Advance(time.Hour)
	if out, err := d.Running(t.Context(), "store"); err != nil || len(out) > 0 {
		t.Errorf("%d running runs, %v, want none", len(out), err)
	}
}

// TestInterruptedRunIsShownBeforeItsDelivery has an end that only the host's files show.
func TestInterruptedRunIsShownBeforeItsDelivery(t *testing.T) {
	for _, tt := range []struct {
		name  string
		after time.Duration // behind the run's last event
		want  string
	}{
		{"after the last event", 3 * time.Second, otelmap.OutcomeInterrupted},
		{"just before the last event was stored", -10 * time.Millisecond, otelmap.OutcomeInterrupted},
		{"long before", -time.Hour, otelmap.OutcomeRunning},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			kept := &memory{}
			d := b.claudeDeliverer(nil, Destination{Name: "store", Client: kept})
			b.append(turn("p1")[0])
			b.clock.Advance(5 * time.Second)
			k := b.append(turn("p1")[1])
			last := b.clock.Now()
			for host, src := range d.Sources {
				src.End = func(_ context.Context, _ string, f Facts) (hook.Kind, time.Time, error) {
					return hook.KindRunCancel, last.Add(tt.after), nil
				}
				d.Sources[host] = src
			}
			b.clock.Advance(10 * time.Second)
			touch(t, b.path(k, "events.json-seq"), b.clock.Now())
			out, err := d.Running(t.Context(), "store")
			if err != nil || len(out) != 1 {
				t.Fatalf("%d runs, %v, want 1", len(out), err)
			}
			if got := otlp.Text(out[0].ScopeSpans[0].Spans[0].Attributes, otelmap.KeyOutcome); got != tt.want {
				t.Errorf("outcome %q, want %q", got, tt.want)
			}
			b.run(d, Pass{})
			if delivered := len(kept.spans) > 0; delivered != (tt.want == otelmap.OutcomeInterrupted) {
				t.Errorf("delivered is %v", delivered)
			}
		})
	}
}

// touch gives a log the time of the test's clock.
func touch(t *testing.T, path string, at time.Time) {
	t.Helper()
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}
