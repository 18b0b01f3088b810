package recorded

import (
	"bytes"
	"context"
	"slices"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp/otlpjson"
	"github.com/hookspan/hookspan/internal/testkit/agentstest"
	"github.com/hookspan/hookspan/otelmap"
)

// Build groups events, and what the agent's files say, into runs, all of which have ended. The
// options' agent and version are set here.
func Build(events []hook.Event, tr *hook.Transcript, o otelmap.Options) (*otelmap.Builder, []*otelmap.Run) {
	e := events[0]
	o.Agent, o.ScopeVersion = agentstest.Mapping(e.Host), "test"
	b := otelmap.NewBuilder(e.Host, e.Session, o, otelmap.Carry{})
	last := time.Time{}
	for _, e := range events {
		b.Add(e)
		if e.StoredAt.After(last) {
			last = e.StoredAt
		}
	}
	late := last.Add(2 * otelmap.DefaultIdleTimeout)
	runs := b.Runs(late)
	if tr != nil && b.ApplyFiles(tr) {
		runs = b.Runs(late)
	}
	return b, runs
}

// Spans maps the session, a message for each run.
func (s Session) Spans(ctx context.Context) (out []*tracepb.ResourceSpans, err error) {
	events, err := s.Events()
	if err != nil {
		return nil, err
	}
	tr, err := s.Transcript(ctx, events[0].Session)
	if err != nil {
		return nil, err
	}
	b, runs := Build(events, tr, otelmap.Options{})
	for _, r := range runs {
		out = append(out, b.Spans(r, tr))
	}
	return out, nil
}

// Spans maps the sessions of these names, or all of them.
func Spans(t testing.TB, names ...string) (out []*tracepb.ResourceSpans) {
	t.Helper()
	for _, s := range Sessions() {
		if len(names) > 0 && !slices.Contains(names, s.Name()) {
			continue
		}
		spans, err := s.Spans(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, spans...)
	}
	if len(out) < len(names) || len(out) == 0 {
		t.Fatalf("sessions %q gave %d runs", names, len(out))
	}
	return out
}

// JSON is the OTLP JSON of a session, a line for each run.
func JSON(t testing.TB, name string) []byte {
	t.Helper()
	var out bytes.Buffer
	for _, run := range Spans(t, name) {
		doc, err := otlpjson.Encode([]*tracepb.ResourceSpans{run})
		if err != nil {
			t.Fatal(err)
		}
		out.Write(append(doc, '\n'))
	}
	return out.Bytes()
}
