package importer

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

const (
	// firstRoom is how much memory an import may use before the collector runs, besides what
	// it keeps of each session, eachRoom, for the second reading.
	firstRoom, eachRoom = 96 << 20, 8 << 10
	// leastRoom is how much an import may use beyond what it needs: the less, the more often
	// the collector runs. Of a large import it is at least a third.
	leastRoom = 40 << 20
)

// Room has the collector run as rarely as an import of so many sessions needs. Most of what it
// allocates is soon free. What is not follows the calls of the largest session, which no file's
// size shows: half of a file may be images. So each collection says how much the next may leave.
// The function that is returned ends that.
func Room(sessions int) (done func()) { return room(sessions, collected) }

// collected calls f when the collector has run.
func collected(f func()) {
	marker := &struct{ next *int }{} // free at the next collection
	runtime.AddCleanup(marker, func(f func()) { f() }, f)
}

func room(sessions int, collected func(func())) (done func()) {
	first := int64(firstRoom + eachRoom*sessions)
	percent, limit := debug.SetGCPercent(1000), debug.SetMemoryLimit(first)
	var mu sync.Mutex
	ended := false
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	var follow func()
	follow = func() {
		mu.Lock()
		defer mu.Unlock()
		if ended {
			return
		}
		metrics.Read(live)
		held := int64(live[0].Value.Uint64()) //nolint:gosec // No heap is so large.
		debug.SetMemoryLimit(max(first, held+max(leastRoom, held/3)))
		collected(follow)
	}
	collected(follow)
	return func() {
		mu.Lock()
		defer mu.Unlock()
		ended = true
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
}
