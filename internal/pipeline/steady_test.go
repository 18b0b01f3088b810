package pipeline

import (
	"testing"
	"time"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/traces/store"
)

// TestPruneDoesNotTrustAClockThatJumps sweeps at times that are off by a number of hours
// from the time at which the store's only trace was stored.
func TestPruneDoesNotTrustAClockThatJumps(t *testing.T) {
	const day, year = 24, 365 * 24
	for name, tc := range map[string]struct {
		hours []int
		kept  bool
	}{
		"a year ahead":                         {[]int{0, year}, true},
		"a year ahead for hours, and set back": {[]int{0, year, year + 5, 1, 2}, true},
		"two jumps":                            {[]int{0, year, 2 * year}, true},
		"too old":                              {[]int{0, 31 * day, 32 * day}, false},
		"too old, seen for less than a day":    {[]int{0, 31 * day, 32*day - 1}, true},
		"not too old":                          {[]int{0, 28 * day, 29 * day}, true},
		"too old after a long pause":           {[]int{0, year, year + day}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSetup(t, "HOOKSPAN_RETENTION=720h")
			began := time.Now()
			now := began
			s.Now = func() time.Time { return now }
			p, err := s.Open(t.Context(), config.ExporterStore)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = p.Close() }()
			trace, _ := p.TestTrace()
			if err := p.Store.UploadTraces(t.Context(), trace); err != nil {
				t.Fatal(err)
			}
			for _, h := range tc.hours {
				now = began.Add(time.Duration(h) * time.Hour)
				if _, err := p.Flush(t.Context(), deliver.Pass{}); err != nil {
					t.Fatal(err)
				}
			}
			left, err := p.Store.List(t.Context(), store.Filter{})
			if err != nil || (len(left) == 1) != tc.kept {
				t.Errorf("%d traces are left, error %v, want it kept: %t", len(left), err, tc.kept)
			}
		})
	}
}
