package golden_test

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/internal/testkit/agentstest"
	"github.com/hookspan/hookspan/internal/testkit/recorded"
	"github.com/hookspan/hookspan/otelmap"
)

// TestNarrowedSpansEqualThoseMappedSo maps each session with each capture, and narrows what
// was mapped with a wider one: a destination gets the same spans either way.
func TestNarrowedSpansEqualThoseMappedSo(t *testing.T) {
	narrowed := 0
	for _, s := range recorded.Sessions() {
		t.Run(s.Name(), func(t *testing.T) {
			events, tr := read(t, s)
			mapped := func(o otelmap.Options) (out []string) {
				b, runs := recorded.Build(events, tr, o)
				for _, r := range runs {
					out = append(out, string(encodeSpans(t, b.Spans(r, tr))))
				}
				return out
			}
			for _, c := range []struct {
				from, to   otelmap.Capture
				max, shown int
			}{
				{otelmap.CaptureFull, otelmap.CaptureFull, 0, 0},
				{otelmap.CaptureFull, otelmap.CapturePreview, 0, 0},
				{otelmap.CaptureFull, otelmap.CapturePreview, 24, 30},
				{otelmap.CaptureFull, otelmap.CaptureNone, 0, 0},
				{otelmap.CapturePreview, otelmap.CapturePreview, 0, 0},
				{otelmap.CapturePreview, otelmap.CaptureNone, 24, 30},
			} {
				o := otelmap.Options{Capture: c.to, Agent: agentstest.Mapping(events[0].Host), MaxInput: c.max, MaxOutput: c.shown}
				wider := o
				wider.Capture = c.from
				want := mapped(o)
				b, runs := recorded.Build(events, tr, wider)
				for i, r := range runs {
					whole := b.Spans(r, tr)
					before := string(encodeSpans(t, whole))
					got := string(encodeSpans(t, o.Narrow(whole)))
					if diff := gocmp.Diff(want[i], got); diff != "" {
						t.Errorf("%s to %s: (-mapped so +narrowed)\n%s", c.from, c.to, diff)
					}
					if before != string(encodeSpans(t, whole)) {
						t.Errorf("%s to %s: the argument was changed", c.from, c.to)
					}
					if got != before {
						narrowed++
					}
				}
			}
		})
	}
	if narrowed < 2*len(recorded.Sessions()) {
		t.Errorf("only %d runs were narrowed", narrowed)
	}
}
