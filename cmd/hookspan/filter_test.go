package main

import (
	"strings"
	"testing"
	"time"
)

func TestPeriod(t *testing.T) {
	zone := time.FixedZone("there", 2*60*60)
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, zone)
	at := func(month time.Month, day, hour, minute int) time.Time {
		return time.Date(2026, month, day, hour, minute, 0, 0, zone)
	}
	for word, want := range map[string][2]time.Time{
		"now":                  {now, now},
		"today":                {at(3, 4, 0, 0), at(3, 5, 0, 0)},
		"yesterday":            {at(3, 3, 0, 0), at(3, 4, 0, 0)},
		"30d":                  {at(2, 2, 12, 0), at(2, 2, 12, 0)},
		"1d":                   {at(3, 3, 12, 0), at(3, 3, 12, 0)},
		"2w":                   {at(2, 18, 12, 0), at(2, 18, 12, 0)},
		"12h":                  {at(3, 4, 0, 0), at(3, 4, 0, 0)},
		"1h30m":                {at(3, 4, 10, 30), at(3, 4, 10, 30)},
		"2026-01-31":           {at(1, 31, 0, 0), at(2, 1, 0, 0)},
		"2026-03-04":           {at(3, 4, 0, 0), at(3, 5, 0, 0)},
		"2026-01-31T15:04":     {at(1, 31, 15, 4), at(1, 31, 15, 4)},
		"2026-01-31 15:04":     {at(1, 31, 15, 4), at(1, 31, 15, 4)},
		"2026-01-31T13:04:00Z": {at(1, 31, 15, 4), at(1, 31, 15, 4)},
	} {
		from, to, err := period(word, now)
		if err != nil || !from.Equal(want[0]) || !to.Equal(want[1]) {
			t.Errorf("%q gives %s to %s, %v, want %s", word, from, to, err, want)
		}
	}
	for _, word := range []string{"", "d", "w", "0d", "-1d", "1.5d", "1dd", "01d", "99999999d", "soon", "-5h", "0s", "2026-02-30", "31.1.2026", "2026"} {
		if from, _, err := period(word, now); err == nil || !strings.Contains(err.Error(), word) || !strings.Contains(err.Error(), "30d") {
			t.Errorf("%q gives %s, %v, want an error that names it and what is allowed", word, from, err)
		}
	}
}
