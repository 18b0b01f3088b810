package store

import (
	"path/filepath"
	"testing"

	"github.com/hookspan/hookspan/otelmap"
)

// TestStoreKnowsWhatATraceMayGiveAway notes captures, of which the strictest counts.
func TestStoreKnowsWhatATraceMayGiveAway(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "traces.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for _, less := range []map[string]otelmap.Capture{
		{"otlp": otelmap.CapturePreview, "file": otelmap.CaptureNone}, {"otlp": otelmap.CaptureNone, "file": otelmap.CapturePreview},
	} {
		if err := s.NoteLess(t.Context(), "a", less); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		trace, to string
		want      otelmap.Capture
	}{{"a", "otlp", otelmap.CaptureNone}, {"a", "file", otelmap.CaptureNone}, {"a", "infinium", ""}, {"b", "otlp", ""}} {
		if got, err := s.Less(t.Context(), c.trace, c.to); err != nil || got != c.want {
			t.Errorf("trace %s to %s: %q, %v, want %q", c.trace, c.to, got, err, c.want)
		}
	}
}
