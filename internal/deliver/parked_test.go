package deliver

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

func TestWhatWasRefusedIsSentAgainOnRequest(t *testing.T) {
	b := newBench(t)
	k := b.append(oneRun(t, "")...)
	b.clock.Advance(time.Minute)
	kept := &memory{}
	var answer error = &Error{Err: errors.New("401 Unauthorized"), Permanent: true}
	var taken []sdktrace.ReadOnlySpan
	picky := exporter(func(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
		if answer == nil {
			taken = append(taken, spans...)
		}
		return answer
	})
	d := b.deliverer(Destination{Name: "store", Exporter: kept}, Destination{Name: "otlp", Exporter: picky})
	var stored tracetest.SpanStubs
	d.Stored = func(_ context.Context, trace string) (tracetest.SpanStubs, error) {
		if len(stored) == 0 || stored[0].SpanContext.TraceID().String() != trace {
			return nil, errors.New("no such trace")
		}
		return stored, nil
	}

	if r := b.run(d, Pass{})["otlp"]; r.Parked != 1 {
		t.Fatalf("a 401 parked %d runs, want 1", r.Parked)
	}
	if n := len(b.state(k, "otlp").Parked); n != 1 {
		t.Fatalf("%d runs are noted as refused, want 1", n)
	}
	// While it cannot be read back, it stays.
	if r := b.run(d, Pass{Force: true})["otlp"]; r.Runs != 0 || len(b.state(k, "otlp").Parked) != 1 {
		t.Errorf("unreadable: %+v", r)
	}
	stored = slices.Collect(maps.Values(kept.spans))

	// Not by itself, and not while the cause is there.
	b.run(d, Pass{})
	if r := b.run(d, Pass{Force: true})["otlp"]; r.Parked != 1 || len(b.state(k, "otlp").Parked) != 1 {
		t.Errorf("still refused: %+v", r)
	}
	answer = &Error{Err: errors.New("503")}
	if r := b.run(d, Pass{Force: true})["otlp"]; r.Waiting != 1 || len(b.state(k, "otlp").Parked) != 1 {
		t.Errorf("down: %+v", r)
	}
	answer = nil
	b.run(d, Pass{})
	if len(taken) != 0 {
		t.Fatal("a pass that nobody asked for sent what was refused")
	}
	if r := b.run(d, Pass{Force: true})["otlp"]; r.Runs != 1 || r.Spans != len(stored) {
		t.Errorf("mended: %+v", r)
	}
	wantIDs(t, "sent again", idsOf(stored.Snapshots()), idsOf(taken))
	if st := b.state(k, "otlp"); len(st.Parked) != 0 || st.Runs != 1 {
		t.Errorf("afterwards %+v", st)
	}
	b.run(d, Pass{Force: true})
	if len(taken) != len(stored) {
		t.Error("it was sent a second time")
	}
}

// exporter makes a span exporter of a function.
type exporter func(context.Context, []sdktrace.ReadOnlySpan) error

func (f exporter) ExportSpans(ctx context.Context, s []sdktrace.ReadOnlySpan) error { return f(ctx, s) }
func (exporter) Shutdown(context.Context) error                                     { return nil }
