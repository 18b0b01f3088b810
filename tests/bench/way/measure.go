package way

import (
	"errors"
	"runtime"
	"slices"
	"time"
)

// Cost is what a step takes for each event.
type Cost struct {
	// Time is the processor time of the median pass, in nanoseconds, so that other
	// programs are not laid to it; Bytes and Allocs are what it takes of the heap.
	Time, Bytes, Allocs float64
}

// Measure takes the session through the step on one core, at least three times
// and for about that long, and returns the median.
func (w *Stages) Measure(s Stage, long time.Duration) (c Cost, err error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	events := float64(w.Session.Events())
	var took []time.Duration
	var before, after runtime.MemStats
	for begin := time.Now(); len(took) < 3 || time.Since(begin) < long; {
		if s.Prepare != nil {
			if err := s.Prepare(); err != nil {
				return c, err
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&before)
		at := CPUTime()
		if err := s.Run(); err != nil {
			return c, errors.Join(errors.New(s.Name), err)
		}
		took = append(took, CPUTime()-at)
		runtime.ReadMemStats(&after)
		c.Bytes = float64(after.TotalAlloc-before.TotalAlloc) / events
		c.Allocs = float64(after.Mallocs-before.Mallocs) / events
	}
	slices.Sort(took)
	c.Time = float64(took[len(took)/2].Nanoseconds()) / events
	return c, nil
}
