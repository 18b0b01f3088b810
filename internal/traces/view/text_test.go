package view

import (
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/traces/store"
)

// TestOffsetsMayBeBeforeTheStart has what the clock of another machine may show.
func TestOffsetsMayBeBeforeTheStart(t *testing.T) {
	for want, at := range map[string]time.Time{"+1.0s": t0.Add(time.Second), "+0ms": t0, "-1.0s": t0.Add(-time.Second), "": {}} {
		var b strings.Builder
		if err := Call(&b, &store.Trace{Summary: store.Summary{Started: t0, TraceID: "0123456789"}}, &Row{Label: "Bash", Start: at}, nil, CallText{}, Options{}); err != nil {
			t.Fatal(err)
		}
		got, _, _ := strings.Cut(strings.TrimSpace(strings.Split(b.String(), "\n")[1]), "trace")
		if got = strings.TrimSuffix(got, " · "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestNumbersAreShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0ms", 1: "<1ms", 999 * time.Microsecond: "<1ms", time.Millisecond: "1ms", 999 * time.Millisecond: "999ms",
		time.Second: "1.0s", 9999 * time.Millisecond: "9.9s", 10 * time.Second: "10s", 59999 * time.Millisecond: "59s",
		time.Minute: "1m00s", time.Hour - 1: "59m59s", time.Hour: "1h00m", 24*time.Hour - 1: "23h59m",
		49 * time.Hour: "2d01h", -time.Second: "-1.0s",
	} {
		if got := duration(d); got != want {
			t.Errorf("duration(%d): got %q, want %q", d, got, want)
		}
	}
	for n, want := range map[int64]string{
		0: "0", 999: "999", 1000: "1.0k", 12_345: "12.3k", 99_949: "99.9k", 99_950: "100k", 999_499: "999k", 999_500: "1.0M",
		12_345_678: "12.3M", -5: "0",
		// The page writes an exact half so.
		1150: "1.1k", 1250: "1.3k", 100_500: "101k", 1_250_000: "1.3M",
	} {
		if got := Tokens(n); got != want {
			t.Errorf("tokens(%d): got %q, want %q", n, got, want)
		}
	}
	for usd, want := range map[float64]string{0: "$0.0000", 0.01234: "$0.0123", 0.99994: "$0.9999", 0.99996: "$1.00", -0.99996: "$-1.00", 1: "$1.00", 12.345: "$12.35", 1e9: "$1000000000.00", 0.03125: "$0.0313", 1.125: "$1.13", -1.125: "$-1.13", 1.115: "$1.11"} {
		if got := Dollars(usd); got != want {
			t.Errorf("dollars(%v): got %q, want %q", usd, got, want)
		}
	}
	for u, want := range map[store.Usage]int{{}: 0, {CacheRead: 5}: 0, {Input: 1000, CacheRead: 999}: 100, {Input: 3, CacheRead: 2}: 67, {Input: 200, CacheRead: 1}: 1, {Input: 7, CacheRead: 7}: 100} {
		if got := CachedShare(&u); got != want {
			t.Errorf("%d of %d cached: got %d %%, want %d", u.CacheRead, u.Input, got, want)
		}
	}
}
