package view

import (
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/testkit/daytest"
)

// firstOf looks for the first instant of a date, or of a later one if it was left out.
func firstOf(date time.Time, in *time.Location) time.Time {
	at := date.Add(-30 * time.Hour).In(in)
	for daytest.Date(at).Before(date) {
		at = at.Add(time.Minute)
	}
	return at
}

func TestADayBeginsAtItsFirstInstant(t *testing.T) {
	daytest.EachChange(t, func(t *testing.T, change time.Time) {
		in := change.Location()
		for days := -2; days <= 2; days++ {
			date := daytest.Date(change).AddDate(0, 0, days)
			begins, ends := firstOf(date, in), firstOf(date.AddDate(0, 0, 1), in)
			from, to, err := Period(date.Format(time.DateOnly), time.Date(2030, 1, 1, 12, 0, 0, 0, in))
			if err != nil || !from.Equal(begins) || !to.Equal(ends) {
				t.Errorf("%s is %s to %s, %v, want %s to %s", date.Format(time.DateOnly), from, to, err, begins, ends)
			}
		}
	})
}

// TestWordsNameDaysOfTheCalendar asks every half hour around each change.
func TestWordsNameDaysOfTheCalendar(t *testing.T) {
	daytest.EachChange(t, func(t *testing.T, change time.Time) {
		known := make(map[time.Time]time.Time)
		begins := func(date time.Time) time.Time {
			if known[date].IsZero() {
				known[date] = firstOf(date, change.Location())
			}
			return known[date]
		}
		for now := change.Add(-50 * time.Hour); now.Before(change.Add(50 * time.Hour)); now = now.Add(30 * time.Minute) {
			today := daytest.Date(now)
			for word, date := range map[string]time.Time{
				"today": today, "yesterday": today.AddDate(0, 0, -1), "monday": today.AddDate(0, 0, -int(today.Weekday()+6)%7),
			} {
				if from, to, err := Period(word, now); err != nil || !from.Equal(begins(date)) || !to.Equal(begins(date.AddDate(0, 0, 1))) {
					t.Errorf("at %s %s is %s to %s, %v", now, word, from, to, err)
				}
			}
			// A time that the clocks skipped is the next one that they showed.
			at, _, err := Period(now.AddDate(0, 0, -1).Format("2006-01-02T15:04"), now)
			if err != nil || daytest.Date(at).Before(daytest.Date(now.AddDate(0, 0, -1))) {
				t.Errorf("at %s the same time of yesterday is %s, %v", now, at, err)
			}
			if at, _, err = Period("1d", now); err != nil || at.Before(begins(today.AddDate(0, 0, -1))) {
				t.Errorf("at %s 1d ago is %s, %v", now, at, err)
			}
		}
	})
}
