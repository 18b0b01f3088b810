package hook

import (
	"testing"
	"time"
)

func TestElapsed(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		at   time.Time
		want bool
	}{
		"just now":              {now, false},
		"within the time":       {now.Add(-time.Hour), false},
		"longer ago":            {now.Add(-time.Hour - 1), true},
		"no time":               {time.Time{}, true},
		"hours ahead":           {now.Add(24 * time.Hour), false},
		"further ahead":         {now.Add(24*time.Hour + 1), true},
		"sixty days ahead":      {now.Add(60 * 24 * time.Hour), true},
		"further than can be":   {time.Unix(1<<40, 0), true},
		"longer ago than it is": {time.Unix(-1<<40, 0), true},
	} {
		if got := Elapsed(now, tc.at, time.Hour); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}
