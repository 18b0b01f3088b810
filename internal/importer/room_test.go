package importer

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// TestRoomFollowsWhatIsHeld holds memory: the limit is that and the least room, and is what it was
// when the import ends.
func TestRoomFollowsWhatIsHeld(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	var follow func()
	done := room(1000, func(f func()) { follow = f })
	if first := debug.SetMemoryLimit(-1); first != firstRoom+1000*eachRoom {
		t.Errorf("the first limit is %d", first)
	}
	const held = 64 << 20
	all := make([]byte, held)
	for range 2 { // each collection, not only the first
		debug.SetMemoryLimit(1 << 40)
		runtime.GC()
		follow()
		if limit := debug.SetMemoryLimit(-1); limit < held+leastRoom || limit > 2*held+leastRoom {
			t.Errorf("the limit is %d with %d held, want room for %d", limit, held, leastRoom)
		}
	}
	runtime.KeepAlive(all)
	done()
	follow()
	if after := debug.SetMemoryLimit(-1); after != before {
		t.Errorf("the limit is %d after the import, want %d", after, before)
	}
}

func TestCollectionsAreFollowed(t *testing.T) {
	seen := make(chan struct{})
	collected(func() { close(seen) })
	runtime.GC()
	<-seen
}
