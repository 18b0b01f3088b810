package hook

import (
	"math"
	"time"
)

// Limit is how much of a window of the user's plan an agent said was used.
type Limit struct {
	// At is when it said so, to the second, and Resets when the window ends, to the minute.
	At, Resets time.Time
	// Window is how long the window is.
	Window time.Duration
	// Used is the share in percent, to one decimal. It may exceed 100.
	Used float64
}

// longestWindow is above any plan's.
const longestWindow = 32 * 24 * time.Hour

// NewLimit returns a limit by the second since 1970 at which its window ends. ok is false for one
// that cannot be, also that of a window that had ended.
func NewLimit(at time.Time, window time.Duration, used, resets float64) (l Limit, ok bool) {
	if !(used >= 0 && used < 1000 && resets > 0 && resets < 1e11) || window < time.Minute || window > longestWindow {
		return l, false
	}
	l = Limit{At: at.UTC().Truncate(time.Second), Resets: time.Unix((int64(resets)+59)/60*60, 0).UTC(), Window: window, Used: math.Round(10*used) / 10}
	left := l.Resets.Sub(l.At)
	return l, left > 0 && left <= window+2*time.Minute
}

// Lasts reports that the window is as long as d. Codex has had windows of 299 minutes.
func (l Limit) Lasts(d time.Duration) bool { return (l.Window - d).Abs() <= time.Minute }

// Newer reports that of two limits of one plan l says more: its window ends later, or it is the same
// one, of which more is used. Of what programs say at the same time the older may come last, and
// ends of one window may differ by a second.
func (l Limit) Newer(than Limit) bool {
	if d := l.Resets.Sub(than.Resets); d.Abs() > time.Minute {
		return d > 0
	}
	return l.Used > than.Used
}
