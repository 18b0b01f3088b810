package pipeline

import (
	"bytes"
	"testing"
	"time"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
)

// TestTrialLeavesNothingInTheStore tries the store where an earlier test was killed
// before it removed its trace.
func TestTrialLeavesNothingInTheStore(t *testing.T) {
	s := newSetup(t)
	now := time.Now()
	s.Now = func() time.Time { return now }
	p, err := s.Open(t.Context(), config.ExporterStore)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	old, _ := p.TestTrace()
	if err := p.Store.UploadTraces(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Minute)
	trace, id := p.TestTrace()
	if got := p.Try(t.Context(), p.Deliverer.Destinations[0], trace, id); !got.OK {
		t.Errorf("got %+v", got)
	}
	if left, err := p.Store.List(t.Context(), store.Filter{Limit: -1}); err != nil || len(left) > 0 {
		t.Errorf("%d traces are left, %v", len(left), err)
	}
}

// TestPayloadIsWhatIsSent prints the test trace for a destination that gets no texts.
func TestPayloadIsWhatIsSent(t *testing.T) {
	p, err := newSetup(t, "HOOKSPAN_OTLP_CAPTURE=none", "OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:1").Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	trace, _ := p.TestTrace()
	for _, d := range p.Deliverer.Destinations {
		body, err := p.Payload(d, trace)
		if err != nil {
			t.Fatal(err)
		}
		if texts := bytes.Contains(body, []byte(otelmap.KeyInputValue)); texts != d.Local {
			t.Errorf("%s: with texts %t", d.Name, texts)
		}
	}
}
