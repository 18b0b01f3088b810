package hook

import "time"

// furthest is how far ahead a stored time may be: the longest wait that a destination
// can ask for. The clock may also have been set back by hours in the middle of a run.
const furthest = 24 * time.Hour

// Elapsed reports that more than d has passed since at, a time that was stored. A time
// that is further ahead than any rule sets was stored while the clock was wrong, and
// counts as past: otherwise everything would wait until the clock is there again.
func Elapsed(now, at time.Time, d time.Duration) bool {
	ago := now.Sub(at)
	return ago > d || ago < -max(d, furthest)
}
