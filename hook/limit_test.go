package hook

import (
	"math"
	"testing"
	"time"
)

func TestNewLimitRefusesWhatCannotBe(t *testing.T) {
	at := time.Date(2026, 11, 20, 12, 0, 0, 5e8, time.UTC)
	const window = 5 * time.Hour
	after := func(d time.Duration) float64 { return float64(at.Add(d).Unix()) }
	for name, tt := range map[string]struct {
		window       time.Duration
		used, resets float64
		ok           bool
	}{
		"a limit":                         {window, 34, after(time.Hour), true},
		"nothing used":                    {window, 0, after(window), true},
		"more than all":                   {window, 104.26, after(time.Minute), true},
		"a month":                         {31 * 24 * time.Hour, 1, after(720 * time.Hour), true},
		"negative":                        {window, -1, after(time.Hour), false},
		"no number":                       {window, math.NaN(), after(time.Hour), false},
		"a huge number":                   {window, 1e300, after(time.Hour), false},
		"without an end":                  {window, 34, math.NaN(), false},
		"an end in the past":              {window, 34, after(-time.Minute), false},
		"an end at the beginning of time": {window, 34, 0, false},
		"a huge end":                      {window, 34, 1e300, false},
		"an infinite end":                 {window, 34, math.Inf(1), false},
		"an end after the window":         {window, 34, after(window + time.Hour), false},
		"no window":                       {0, 34, after(time.Second), false},
		"a negative window":               {-window, 34, after(time.Hour), false},
		"a year's window":                 {8760 * time.Hour, 34, after(time.Hour), false},
	} {
		l, ok := NewLimit(at, tt.window, tt.used, tt.resets)
		if ok != tt.ok {
			t.Errorf("%s: %+v, %v", name, l, ok)
		}
		if !ok {
			continue
		}
		if again, ok := NewLimit(l.At, l.Window, l.Used, float64(l.Resets.Unix())); !ok || again != l {
			t.Errorf("%s: %+v, and made again %+v", name, l, again)
		}
	}
}

func TestNewerLimitIsOfALaterWindowOrMoreUsed(t *testing.T) {
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	limit := func(used float64, resets time.Duration) Limit { return Limit{Used: used, Resets: at.Add(resets)} }
	for name, tt := range map[string]struct {
		l, than Limit
		want    bool
	}{
		"more used":                              {limit(36, time.Hour), limit(34, time.Hour), true},
		"less used, from a program that idled":   {limit(34, time.Hour), limit(36, time.Hour), false},
		"less used, with an end that jitters":    {limit(34, time.Hour+time.Minute), limit(36, time.Hour), false},
		"more used, with an end that jitters":    {limit(36, time.Hour), limit(34, time.Hour+time.Minute), true},
		"the next window":                        {limit(1, 6*time.Hour), limit(99, time.Hour), true},
		"the window before, from one that idled": {limit(99, time.Hour), limit(1, 6*time.Hour), false},
		"after none":                             {limit(0, time.Hour), Limit{}, true},
	} {
		if got := tt.l.Newer(tt.than); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
