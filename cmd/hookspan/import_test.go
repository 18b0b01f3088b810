package main

import (
	"strings"
	"testing"
	"time"
)

func TestSinceWhen(t *testing.T) {
	zone := time.FixedZone("there", 2*60*60)
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, zone)
	for word, want := range map[string]time.Time{
		"":           {},
		"30d":        time.Date(2026, 2, 2, 12, 0, 0, 0, zone),
		"1d":         time.Date(2026, 3, 3, 12, 0, 0, 0, zone),
		"12h":        time.Date(2026, 3, 4, 0, 0, 0, 0, zone),
		"2026-01-31": time.Date(2026, 1, 31, 0, 0, 0, 0, zone),
		"2026-03-04": time.Date(2026, 3, 4, 0, 0, 0, 0, zone),
	} {
		got, err := sinceWhen(word, now)
		if err != nil || !got.Equal(want) {
			t.Errorf("%q gives %s, %v, want %s", word, got, err, want)
		}
	}
	for _, word := range []string{"d", "0d", "-1d", "1.5d", "99999999d", "soon", "-5h", "0s", "2026-03-05", "2026-02-30", "31.1.2026", "2026"} {
		if got, err := sinceWhen(word, now); err == nil || !strings.Contains(err.Error(), word) || !strings.Contains(err.Error(), "30d") {
			t.Errorf("%q gives %s, %v, want an error that names it and what is allowed", word, got, err)
		}
	}
}
