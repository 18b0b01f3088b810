package store

import (
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/testkit/daytest"
)

// TestDaysAndWeeksAreOfTheCalendar asks for the keys of starts around each change, in their order
// and with one that remembers, as for traces side by side.
func TestDaysAndWeeksAreOfTheCalendar(t *testing.T) {
	daytest.EachChange(t, func(t *testing.T, change time.Time) {
		day, week := dates{by: ByDay, in: change.Location()}, dates{by: ByWeek, in: change.Location()}
		for at := change.Add(-3 * time.Hour); at.Before(change.Add(8 * 24 * time.Hour)); at = at.Add(7 * time.Minute) {
			date := daytest.Date(at)
			monday := date.AddDate(0, 0, -int(date.Weekday()+6)%7)
			if got, want := day.key(&Summary{Started: at}), date.Format(time.DateOnly); got != want {
				t.Errorf("the day of %s is %s, want %s", at, got, want)
			}
			if got, want := week.key(&Summary{Started: at}), monday.Format(time.DateOnly); got != want {
				t.Errorf("the week of %s is %s, want %s", at, got, want)
			}
		}
	})
}
