package deliver

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/hookspan/hookspan/spool"
)

// cacheSize is how many sessions' batches are kept. Destinations go through
// the sessions in one order and mostly stand at one position, so that few are
// enough for each to be read and mapped once.
const cacheSize = 4

// cache shares what was read and mapped between the destinations of one pass.
type cache struct {
	mu      sync.Mutex
	entries []*entry
}

type entry struct {
	key  string
	once sync.Once
	out  *batch
	err  error
}

// get returns the batch for a destination's position, made once for all
// destinations that share it.
func (c *cache) get(ctx context.Context, d *Deliverer, s *spool.Session, st *State, size int64) (*batch, error) {
	position, err := json.Marshal(struct {
		Key    spool.Key
		Offset int64
		Size   int64
		Done   map[string]bool
	}{s.Key(), st.Offset, size, st.Done})
	if err != nil {
		return nil, err
	}
	e := c.entry(string(position))
	e.once.Do(func() { e.out, e.err = d.prepare(ctx, s, st) })
	if e.err == nil && e.out.waiting > 0 {
		// Runs that are settling are ready on the next look.
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
