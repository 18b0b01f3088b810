package deliver

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
)

// cache shares what was read and mapped between the destinations of one pass.
// These deliver the sessions in the same order and mostly from the same
// position, so that a few entries are enough.
type cache struct {
	mu      sync.Mutex
	entries []*entry // the newest last
}

// cacheSize is the largest number of entries. cacheBytes bounds the logs that all
// entries but the newest are made from, since their memory depends on it.
const (
	cacheSize  = 4
	cacheBytes = defaultWindow
)

type entry struct {
	key string
	// bytes is the size of the log behind the position.
	bytes int64
	once  sync.Once
	out   *pending
	err   error
}

// get returns what is pending at a destination's position. It is prepared once
// for all destinations at that position.
func (c *cache) get(ctx context.Context, d *Deliverer, s *spool.Session, st *State, size int64, whole bool) (*pending, error) {
	position, err := json.Marshal(struct {
		Key    spool.Key
		Offset int64
		Size   int64
		Done   map[string]bool
		Late   map[string]int64
		Read   int64
		Index  bool
		Start  *otelmap.Carry
		Whole  bool
	}{s.Key(), st.Offset, size, st.Done, st.Late, st.Read, st.Index.Size > 0, st.Start, whole})
	if err != nil {
		return nil, err
	}
	e, made := c.entry(string(position), size-st.Offset), false
	prepare := func() (out *pending, err error) {
		err = guarded(s.Key(), func() (err error) {
			out, err = d.prepare(ctx, s, st, whole)
			return err
		})
		return out, err
	}
	e.once.Do(func() {
		made = true
		e.out, e.err = prepare()
	})
	if e.err == nil && e.out.lost && !made {
		return prepare() // another destination's index is damaged
	}
	if e.err != nil || e.out.settling > 0 {
		// The next attempt may succeed, and find the runs settled.
		c.drop(e)
	}
	return e.out, e.err
}

// entry returns the entry with the key, or a new one in place of the oldest.
func (c *cache) entry(key string, bytes int64) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.IndexFunc(c.entries, func(e *entry) bool { return e.key == key }); i >= 0 {
		return c.entries[i]
	}
	var older int64
	for i, e := range slices.Backward(c.entries) {
		older += e.bytes
		if older > cacheBytes || len(c.entries)-i >= cacheSize {
			c.entries = slices.Delete(c.entries, 0, i+1)
			break
		}
	}
	e := &entry{key: key, bytes: bytes}
	c.entries = append(c.entries, e)
	return e
}

func (c *cache) drop(old *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries = slices.DeleteFunc(c.entries, func(e *entry) bool { return e == old })
}
