// Package daytest has days that are not 24 hours from midnight to midnight.
package daytest

import (
	"testing"
	"time"
	_ "time/tzdata" // The zones below.
)

// zones have days without a midnight, with two, with half an hour more, and a day that was not.
var zones = []string{
	"America/Santiago", "America/Havana", "Atlantic/Azores", "Asia/Beirut", "Africa/Cairo", "America/Asuncion", "Asia/Tehran",
	"Asia/Amman", "Asia/Gaza", "Pacific/Apia", "America/St_Johns", "Australia/Lord_Howe", "America/Sao_Paulo", "Europe/Berlin",
}

// EachChange calls f with each instant from 2008 to 2029 at which the clocks of a zone change.
func EachChange(t *testing.T, f func(t *testing.T, change time.Time)) {
	t.Helper()
	for _, name := range zones {
		t.Run(name, func(t *testing.T) {
			in, err := time.LoadLocation(name)
			if err != nil {
				t.Fatal(err)
			}
			changes := 0
			for at := time.Date(2008, 1, 1, 0, 0, 0, 0, time.UTC).In(in); ; changes++ {
				if _, at = at.ZoneBounds(); at.IsZero() || at.Year() > 2029 {
					break
				}
				f(t, at)
			}
			if changes < 4 {
				t.Errorf("%d changes, want more", changes)
			}
		})
	}
}

// Date returns the date of an instant as a midnight of UTC.
func Date(at time.Time) time.Time {
	y, m, d := at.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}
