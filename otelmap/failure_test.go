package otelmap

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/hookspan/hookspan/internal/redact"
)

func TestPreviewOfAFailureKeepsItsEnd(t *testing.T) {
	long := strings.Repeat("ok  \tpkg 0.1s\n", 500)
	for _, c := range []struct {
		name, text, want string
		limit            int
		capture          Capture
	}{
		{"short", "Exit code 1\nno such file", "Exit code 1\nno such file", 60, CapturePreview},
		{"whole lines at the end", "Exit code 1\n" + long + "FAIL: want 1, got 2", "Exit code 1\nok  \tpk…\nok  \tpkg 0.1s\nFAIL: want 1, got 2", 60, CapturePreview},
		{"one long line", strings.Repeat("a", 50) + strings.Repeat("b", 50), strings.Repeat("a", 9) + "…\n…" + strings.Repeat("b", 18), 30, CapturePreview},
		{"everything is captured", "x" + long, "x" + long, 60, CaptureFull},
		{"nothing is captured", long, "", 60, CaptureNone},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Options{Capture: c.capture}.withDefaults("cline")
			if got := o.failure(c.text, c.limit); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestPreviewOfAFailureHoldsNoSecret puts a key at every distance from the end.
func TestPreviewOfAFailureHoldsNoSecret(t *testing.T) {
	const key = "sk-ant-api03-Zx8Qw3Er5Ty7Ui9Op1As2Df4Gh6Jk8Lz0Xc2Vb4Nm6Qw8Er0Ty2Ui4Op6As8Df0Gh2Jk4Lz6-Xc8Vb0NmAA"
	o := Options{Capture: CapturePreview, Clean: redact.New(nil).Preview}.withDefaults("cline")
	for _, before := range []int{0, 300, 20_000} {
		for behind := 0; behind < 400; behind += 7 {
			text := strings.Repeat("line of output\n", before/15) + key + " " + strings.Repeat("e", behind)
			got := o.failure(text, 300)
			for i := 20; i+12 < len(key); i++ {
				if strings.Contains(got, key[i:i+12]) {
					t.Fatalf("%d before, %d behind: the preview %q has a part of the key", before, behind, got)
				}
			}
		}
	}
}

func TestPreviewOfAFailureKeepsToItsLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.RuneFrom([]rune("ab\né日…")), 0, 3000, -1).Draw(t, "text")
		limit := rapid.IntRange(1, 400).Draw(t, "limit")
		o := Options{Capture: CapturePreview}.withDefaults("cline")
		got := o.failure(text, limit)
		if n := utf8.RuneCountInString(got); n > limit {
			t.Fatalf("%d characters, limit %d: %q", n, limit, got)
		}
		if utf8.RuneCountInString(text) <= limit && got != text {
			t.Fatalf("%q became %q", text, got)
		}
	})
}
