package redact

import (
	"hash/maphash"
	"slices"
	"sync"
)

// cleanTexts remembers texts without secrets: the spans have those that the mapping
// has cleaned, and most of one span's texts are in the others too. It forgets the
// older ones of more than cleanSize. It may be used by several goroutines at once.
//
// It keeps hashes of 128 bits, of which no other process knows the seeds: that two
// texts have one hash does not happen, and no text can be made for it.
type cleanTexts struct {
	seeds [2]maphash.Seed
	mu    sync.Mutex
	// sets are made when the first text is remembered. A text is in the set that its
	// hash names, the newest text of a set is the first.
	sets [][cleanWays]textHash
}

// cleanSize is how many texts are remembered in sets of cleanWays, which fill a line
// of the processor's cache: all those that the mapping holds of a part of a log, in as
// much memory as the cache has.
const (
	cleanSize = 1 << 15
	cleanWays = 4
)

type textHash [2]uint64

func newCleanTexts() cleanTexts {
	return cleanTexts{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
}

func (c *cleanTexts) hash(s string) textHash {
	return textHash{maphash.String(c.seeds[0], s), maphash.String(c.seeds[1], s)}
}

func (c *cleanTexts) has(h textHash) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sets != nil && slices.Contains(c.sets[h.set()][:], h)
}

func (c *cleanTexts) add(h textHash) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sets == nil {
		c.sets = make([][cleanWays]textHash, cleanSize/cleanWays)
	}
	set := &c.sets[h.set()]
	if !slices.Contains(set[:], h) {
		copy(set[1:], set[:cleanWays-1])
		set[0] = h
	}
}

func (h textHash) set() uint64 { return h[0] % (cleanSize / cleanWays) }
