package main

import (
	"testing"
	"time"
)

func TestDurationText(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 ms", 12 * time.Millisecond: "12 ms", time.Second: "1 s", 1500 * time.Millisecond: "1.5 s", 10 * time.Minute: "600 s",
	} {
		if got := durationText(d); got != want {
			t.Errorf("%v: got %q, want %q", d, got, want)
		}
	}
}
