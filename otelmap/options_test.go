package otelmap

import (
	"strings"
	"testing"

	"github.com/hookspan/hookspan/hook"
)

func TestTightenNeverCapturesMore(t *testing.T) {
	for _, tt := range []struct {
		from, to Capture
		text     bool
	}{
		{CapturePreview, CaptureNone, false},
		{CaptureFull, CapturePreview, true},
		{CaptureNone, CaptureFull, false},
		{CapturePreview, "nonsense", false},
	} {
		b := NewBuilder("cline", "s", Options{Capture: tt.from}, Carry{})
		b.Tighten(tt.to)
		e := prompt(1, strings.Repeat("x", 50_000))
		b.Add(e)
		b.Add(ev(2, hook.KindRunComplete))
		got := value(spansOf(b, b.Runs(far)[0], nil)[0], KeyInputValue)
		if (got != "") != tt.text {
			t.Errorf("%s tightened to %s: text %t, want %t", tt.from, tt.to, got != "", tt.text)
		}
		if len(got) >= 50_000 {
			t.Errorf("%s tightened to %s: the whole text is there", tt.from, tt.to)
		}
	}
}

func TestClassRejectsSentences(t *testing.T) {
	for s, want := range map[string]string{
		"rate_limit": "rate_limit", "Error": "Error", "net/http.Timeout": "net/http.Timeout", "": "",
		"the key sk-123 is wrong": "", "line\nbreak": "", "é": "", strings.Repeat("x", 101): "",
	} {
		if got := class(s); got != want {
			t.Errorf("class(%q) = %q, want %q", s, got, want)
		}
	}
}
