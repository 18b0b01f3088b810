package importer

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// TestRoomFollowsWhatIsHeld holds memory: the limit is that and the least room, and is what it was
// when the import ends.
func TestRoomFollowsWhatIsHeld(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	done := Room(1000)
	first := debug.SetMemoryLimit(-1)
	if first != firstRoom+1000*eachRoom {
		t.Errorf("the first limit is %d", first)
	}
	const held = 64 << 20
	all := make([]byte, held)
	limit := first
	for end := time.Now().Add(time.Minute); limit == first && time.Now().Before(end); time.Sleep(time.Millisecond) {
		runtime.GC()
		limit = debug.SetMemoryLimit(-1)
	}
	runtime.KeepAlive(all)
	if limit < held+leastRoom || limit > 2*held+leastRoom {
		t.Errorf("the limit is %d with %d held, want room for %d", limit, held, leastRoom)
	}
	done()
	runtime.GC()
	runtime.GC()
	if after := debug.SetMemoryLimit(-1); after != before {
		t.Errorf("the limit is %d after the import, want %d", after, before)
	}
}
