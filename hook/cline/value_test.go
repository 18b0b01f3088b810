package cline

import (
	"testing"
	"time"

	"github.com/hookspan/hookspan/hook"
)

func TestMillis(t *testing.T) {
	for in, want := range map[string]time.Duration{
		``: 0, `0`: 0, `"427"`: 427 * time.Millisecond, `-1`: hook.UnknownDuration, `"soon"`: hook.UnknownDuration,
	} {
		var raw []byte
		if in != "" {
			raw = []byte(in)
		}
		if got := millis(raw); got != want {
			t.Errorf("millis(%s) = %v, want %v", in, got, want)
		}
	}
}

func TestKnown(t *testing.T) {
	for in, want := range map[string]string{``: "", `"unknown"`: "", `"claude"`: "claude", `"Unknown"`: "Unknown"} {
		if got := known([]byte(in)); got != want {
			t.Errorf("known(%s) = %q, want %q", in, got, want)
		}
	}
}
