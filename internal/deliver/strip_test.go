package deliver

import (
	"context"
	"testing"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
)

// TestTextsAreRemovedAsIfTheyHadNotBeenCaptured compares finished spans without their
// texts with those that are mapped without.
func TestTextsAreRemovedAsIfTheyHadNotBeenCaptured(t *testing.T) {
	removed, kept := 0, 0
	for _, folder := range []string{"classic-session", "next-session", "sdk-session", "e2e-cli2/ok", "e2e-cli3/tools"} {
		b := newBench(t)
		k := b.append(recorded(t, folder, "")...)
		full, none := b.view(k, otelmap.Options{Capture: otelmap.CaptureFull}), b.view(k, otelmap.Options{Capture: otelmap.CaptureNone})
		for id, spans := range full.spans {
			want := make(map[string]*tracepb.Span)
			for s := range otlp.Spans([]*tracepb.ResourceSpans{none.spans[id]}) {
				want[otlp.SpanID(s)] = s
			}
			for s := range otlp.Spans([]*tracepb.ResourceSpans{spans}) {
				removed += len(s.Attributes)
			}
			for s := range otlp.Spans([]*tracepb.ResourceSpans{otelmap.WithoutTexts(spans)}) {
				kept += len(s.Attributes)
				allowed := func(got, want []*commonpb.KeyValue) {
					for _, kv := range got {
						if text := kv.GetValue().GetStringValue(); text != "" && otlp.Text(want, kv.GetKey()) != text {
							t.Errorf("%s: %s has %s = %q", folder, s.Name, kv.GetKey(), text)
						}
					}
				}
				w := want[otlp.SpanID(s)]
				allowed(s.Attributes, w.GetAttributes())
				for i, e := range s.Events {
					if i < len(w.GetEvents()) {
						allowed(e.Attributes, w.Events[i].Attributes)
					} else {
						allowed(e.Attributes, nil)
					}
				}
				if s.GetStatus().GetMessage() != "" {
					t.Errorf("%s: %s has the status %q", folder, s.Name, s.Status.Message)
				}
			}
		}
	}
	if removed -= kept; removed == 0 || kept == 0 {
		t.Errorf("%d attributes removed, %d kept", removed, kept)
	}
}

func TestFillLeavesOutTextsThatAreNotCapturedToday(t *testing.T) {
	b := newBench(t)
	k := b.append(oneRun(t, "")...)
	v := b.view(k, otelmap.Options{})
	m := &memory{}
	d := b.deliverer(Destination{Name: "otlp", Client: m})
	d.Map.Capture = otelmap.CaptureNone
	sent, err := d.Fill(t.Context(), &d.Destinations[0], []StoredTrace{{ID: "1"}}, func(context.Context, string) ([]*tracepb.ResourceSpans, error) {
		return v.of(v.runs[0]), nil
	})
	if err != nil || sent.Traces != 1 || len(m.spans) == 0 {
		t.Fatalf("%+v, %v", sent, err)
	}
	for _, s := range m.spans {
		for _, key := range []string{otelmap.KeyInputValue, otelmap.KeyOutputValue, otelmap.KeyToolArguments, otelmap.KeyToolResult} {
			if text := otlp.Text(s.Attributes, key); text != "" {
				t.Errorf("%s has %s = %q", s.Name, key, text)
			}
		}
	}
}
