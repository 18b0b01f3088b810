package view

import (
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/traces/store"
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
		"wednesday":            {at(3, 4, 0, 0), at(3, 5, 0, 0)},
		"monday":               {at(3, 2, 0, 0), at(3, 3, 0, 0)},
		"Thu":                  {at(2, 26, 0, 0), at(2, 27, 0, 0)},
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
		from, to, err := Period(word, now)
		if err != nil || !from.Equal(want[0]) || !to.Equal(want[1]) {
			t.Errorf("%q gives %s to %s, %v, want %s", word, from, to, err, want)
		}
	}
	for _, word := range []string{"", "d", "w", "0d", "-1d", "1.5d", "1dd", "01d", "99999999d", "soon", "-5h", "0s", "2026-02-30", "31.1.2026", "2026"} {
		if from, _, err := Period(word, now); err == nil || !strings.Contains(err.Error(), word) || !strings.Contains(err.Error(), "30d") {
			t.Errorf("%q gives %s, %v, want an error that names it and what is allowed", word, from, err)
		}
	}
}

func TestSessionOf(t *testing.T) {
	sums := []store.Summary{{Session: "b2"}, {Session: ""}, {Session: "a1"}, {Session: "a12"}, {Session: "b2"}}
	for _, c := range []struct {
		sums             []store.Summary
		word, want, fail string
	}{
		{sums, "", "b2", ""}, {sums, "a1", "a1", ""}, {sums[:3], "b", "", `2 sessions begin with "b": a1, b2`}, {sums[:1], "b", "b2", ""}, {nil, "a", "", ""}, {nil, "", "", ""},
	} {
		got, err := SessionOf(c.sums, c.word)
		if got != c.want || (err != nil) != (c.fail != "") || err != nil && err.Error() != c.fail {
			t.Errorf("%q gives %q, %v, want %q, %q", c.word, got, err, c.want, c.fail)
		}
	}
}

func TestProjectOf(t *testing.T) {
	folders := []string{"/home/dev/shop", `C:\src\api`, "/srv/api", "/home/dev/shop2", ""}
	for word, want := range map[string]string{"shop": "/home/dev/shop", "hop": "", "shop2": "/home/dev/shop2"} {
		if got, err := ProjectOf(folders, word); got != want || err != nil {
			t.Errorf("%q gives %q, %v, want %q", word, got, err, want)
		}
	}
	if got, err := ProjectOf(folders, "api"); err == nil || !strings.Contains(err.Error(), `C:\src\api, /srv/api`) {
		t.Errorf("a name of two folders gives %q, %v", got, err)
	}
}

// TestANumberIsThatOfTheTree has a span id that begins with the number of another call.
func TestANumberIsThatOfTheTree(t *testing.T) {
	rows := []Row{{id: "\x10\x00aaaaaa"}, {Number: 1000, id: "bbbbbbbb"}}
	for name, want := range map[string]int{"1000": 1, "#1000": 1, "10006161": 0} {
		if got, err := FindRow(rows, name); got != want || err != nil {
			t.Errorf("%s: row %d, %v, want %d", name, got, err, want)
		}
	}
}

func TestFindRow(t *testing.T) {
	rows := Rows(store.NewTrace(clineTrace().Messages()))
	for name, want := range map[string]string{"1": "tool", "#2": "tool", "a000000000000001": "run", "0": "error", "#0": "error", "-1": "error", "99": "error", "a000": "error", "ffff": "error"} {
		got := "error"
		if i, err := FindRow(rows, name); err == nil {
			got = string(rows[i].Kind)
		}
		if got != want {
			t.Errorf("%s is a row of kind %q, want %q", name, got, want)
		}
	}
}
