package deliver

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
)

// TestDestinationGetsWhatItsCaptureMaps delivers sessions with one capture to destinations
// with less: each gets the spans that would have been mapped with its own.
func TestDestinationGetsWhatItsCaptureMaps(t *testing.T) {
	byRecord := func(string) (Terms, bool) {
		return Terms{Capture: otelmap.CaptureFull, Less: map[string]otelmap.Capture{"otlp": otelmap.CaptureNone, "file": otelmap.CapturePreview}}, true
	}
	for name, c := range map[string]struct {
		otlp, file otelmap.Capture
		judge      func(string) (Terms, bool)
		refused    bool
	}{
		"by this process":                    {otlp: otelmap.CaptureNone, file: otelmap.CapturePreview},
		"by the records":                     {judge: byRecord},
		"by the records, of a wider process": {otlp: otelmap.CapturePreview, judge: byRecord},
		"sent again after a refusal":         {otlp: otelmap.CaptureNone, file: otelmap.CapturePreview, refused: true},
		"sent again, by the records":         {judge: byRecord, refused: true},
	} {
		for _, folder := range []string{"classic-session", "sdk-session", "e2e-cli2/ok", "e2e-cli3/tools"} {
			mapped := func(capture otelmap.Capture) *memory {
				b, m := newBench(t), &memory{}
				b.append(recorded(t, folder, "")...)
				b.clock.Advance(time.Hour)
				d := b.deliverer(Destination{Name: "otlp", Client: m})
				d.Map.Capture = capture
				b.run(d, Pass{})
				return m
			}
			b := newBench(t)
			b.append(recorded(t, folder, "")...)
			b.clock.Advance(time.Hour)
			local, otlp, file := &memory{}, &memory{}, &memory{}
			d := b.deliverer(Destination{Name: "store", Client: local, Local: true},
				Destination{Name: "otlp", Client: otlp, Capture: c.otlp}, Destination{Name: "file", Client: file, Capture: c.file})
			d.Map.Capture, d.Judge = otelmap.CaptureFull, c.judge
			if c.refused {
				otlp.before, file.before = fail(&Error{Err: errTest, Permanent: true}), fail(&Error{Err: errTest, Permanent: true})
				b.run(d, Pass{})
				otlp.before, file.before = nil, nil
			}
			b.run(d, Pass{Force: true})
			for at, got := range map[otelmap.Capture]*memory{otelmap.CaptureFull: local, otelmap.CaptureNone: otlp, otelmap.CapturePreview: file} {
				if diff := cmp.Diff(mapped(at).spans, got.spans, protocmp.Transform()); diff != "" || len(got.spans) == 0 {
					t.Errorf("%s, %s, %s: %d spans (-mapped so +sent)\n%s", name, folder, at, len(got.spans), diff)
				}
			}
		}
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

// TestStoredTraceGivesAwayWhatItsRecordAllowed exports a stored trace by hand, by a process that may
// send texts: the record's settings count.
func TestStoredTraceGivesAwayWhatItsRecordAllowed(t *testing.T) {
	b, local, sent := newBench(t), &memory{}, &memory{}
	d := b.claudeDeliverer(nil, Destination{Name: "store", Client: local, Local: true, Batch: 512})
	d.Map.Capture = otelmap.CaptureFull
	d.Judge = func(settings string) (Terms, bool) {
		less := map[string]otelmap.Capture{}
		if settings == "secret" {
			less["otlp"] = otelmap.CaptureNone
		}
		return Terms{Capture: otelmap.CaptureFull, Less: less}, true
	}
	noted := make(map[string]map[string]otelmap.Capture)
	d.NoteLess = func(_ context.Context, trace string, less map[string]otelmap.Capture) error {
		if len(local.spans) != 0 {
			t.Error("the trace was stored before")
		}
		noted[trace] = less
		return nil
	}
	d.Less = func(_ context.Context, trace, destination string) (otelmap.Capture, error) {
		return noted[trace][destination], nil
	}
	for _, settings := range []string{"open", "secret"} {
		recs := turn("p-" + settings)
		for i := range recs {
			recs[i].Settings = settings
		}
		b.append(recs...)
	}
	b.clock.Advance(time.Minute)
	b.run(d, Pass{})
	traces := make(map[string]bool)
	for id := range local.spans {
		traces[id.Trace] = true
	}
	if len(noted) != 1 || len(traces) != 2 {
		t.Fatalf("noted %v of %v", noted, traces)
	}
	for trace := range traces {
		get := func(context.Context, string) (out []*tracepb.ResourceSpans, err error) {
			one := &tracepb.ScopeSpans{}
			for id, s := range local.spans {
				if id.Trace == trace {
					one.Spans = append(one.Spans, s)
				}
			}
			return []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{one}}}, nil
		}
		clear(sent.spans)
		if f, err := d.Fill(t.Context(), &Destination{Name: "otlp", Client: sent, Batch: 512}, []StoredTrace{{ID: trace}}, get); err != nil || f.Traces != 1 {
			t.Fatalf("%s, %v", mustJSON(f), err)
		}
		texts := 0
		for _, s := range sent.spans {
			if otlp.Find(s.GetAttributes(), "gen_ai.tool.call.result") != nil {
				texts++
			}
		}
		if secret := noted[trace] != nil; secret != (texts == 0) {
			t.Errorf("trace %s, of which otlp gets no texts %t, has %d results", trace, secret, texts)
		}
	}
}
