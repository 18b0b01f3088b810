package bridge

import (
	"container/list"
	"context"
	"crypto/sha256"
	"sync"
	"time"
)

const (
	// defaultMemory is how many events the server remembers.
	defaultMemory = 10_000
	// defaultWindow is how long an event without an identity of its own counts
	// as the same when its very bytes come again. A copy that comes round by
	// another hook takes a second or two; a user may well say "continue" twice.
	defaultWindow = 10 * time.Second
)

// memoryKey tells events apart. A named one carries the agent's own identity, so
// that it is the same event however late it comes.
type memoryKey struct {
	sum   [sha256.Size]byte
	named bool
}

// memory knows the last events, so that none is taken twice.
type memory struct {
	size   int
	window time.Duration
	now    func() time.Time

	mu    sync.Mutex
	byKey map[memoryKey]*list.Element
	order list.List // of *claim, the latest in front
}

// claim is one event that is being taken, or has been.
type claim struct {
	key  memoryKey
	at   time.Time
	done chan struct{} // closed when ok is known
	ok   bool
}

// take claims an event. It is repeated if somebody else has taken it; while
// somebody still does, take waits, for that may fail. Who gets a claim must call
// settle.
func (m *memory) take(ctx context.Context, key memoryKey) (c *claim, repeated bool, err error) {
	for {
		c, mine := m.claim(key)
		if mine {
			return c, false, nil
		}
		select {
		case <-c.done:
			if c.ok {
				return nil, true, nil
			}
		case <-ctx.Done():
			return nil, false, ctx.Err()
		}
	}
}

func (m *memory) claim(key memoryKey) (c *claim, mine bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	if e, ok := m.byKey[key]; ok {
		old := e.Value.(*claim)
		age := now.Sub(old.at)
		if old.key.named || age < m.window && age > -m.window {
			m.order.MoveToFront(e)
			return old, false
		}
		m.forget(e)
	}
	if m.byKey == nil {
		m.byKey = make(map[memoryKey]*list.Element)
	}
	c = &claim{key: key, at: now, done: make(chan struct{})}
	m.byKey[key] = m.order.PushFront(c)
	for m.order.Len() > m.size {
		m.forget(m.order.Back())
	}
	return c, true
}

// forget takes an entry out; the lock is held.
func (m *memory) forget(e *list.Element) {
	c := m.order.Remove(e).(*claim)
	if m.byKey[c.key] == e {
		delete(m.byKey, c.key)
	}
}

// settle says whether the event was taken. One that was not may come again.
func (m *memory) settle(c *claim, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.byKey[c.key]; !ok && e != nil && e.Value == c {
		m.forget(e)
	}
	c.ok = ok
	close(c.done)
}
