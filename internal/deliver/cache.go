package deliver

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/hookspan/hookspan/spool"
)

// cacheSize is how many batches are kept, and cacheBytes how much of the logs they
// may have been made from together, the newest apart. Destinations go through the
// sessions in one order and mostly stand at one position, so that few are enough
// for each to be read and mapped once.
const (
	cacheSize  = 4
	cacheBytes = defaultWindow
)

// cache shares what was read and mapped between the destinations of one pass.
type cache struct {
	mu      sync.Mutex
	entries []*entry
	// ahead are those that read what will be asked for next.
	ahead sync.WaitGroup
}

type entry struct {
	key string
	// bytes is how much of a log was read for it, 0 before.
	bytes int64
	once  sync.Once
	out   *pending
	err   error
}

// get returns what is pending for a destination's position, made once for all
// destinations that share it.
func (c *cache) get(ctx context.Context, d *Deliverer, s *spool.Session, st *State, size int64, whole bool) (*pending, error) {
	position, err := json.Marshal(struct {
		Key    spool.Key
		Offset int64
		Size   int64
		Done   map[string]bool
		Whole  bool
	}{s.Key(), st.Offset, size, st.Done, whole})
	if err != nil {
		return nil, err
	}
	e := c.entry(string(position))
	e.once.Do(func() {
		e.out, e.err = d.prepare(ctx, s, st, whole)
		if e.err == nil {
			c.note(e, e.out.size-st.Offset)
		}
	})
	if e.err != nil || e.out.waiting > 0 {
		// Runs that are settling are ready on the next visit, and an error may be
		// gone.
		c.forget(e)
	}
	return e.out, e.err
}

func (c *cache) entry(key string) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.entries {
		if e.key == key {
			return e
		}
	}
	e := &entry{key: key}
	c.entries = append(c.entries, e)
	if len(c.entries) > cacheSize {
		c.entries = c.entries[1:]
	}
	return e
}

// note drops the oldest batches, for memory depends on what they were made from.
func (c *cache) note(e *entry, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.bytes = bytes
	var older int64
	for i := len(c.entries) - 1; i >= 0; i-- {
		if c.entries[i] == e {
			continue
		}
		if older += c.entries[i].bytes; older > cacheBytes {
			c.entries = slices.Delete(c.entries, 0, i+1)
			return
		}
	}
}

func (c *cache) forget(old *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, e := range c.entries {
		if e == old {
			c.entries = append(c.entries[:i:i], c.entries[i+1:]...)
			return
		}
	}
}
