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
	// defaultWindow is how long an event counts as the same when it arrives again. A
	// copy from another hook takes a second or two; a user may well say "continue"
	// twice, and some models number their calls anew in each answer.
	defaultWindow = 10 * time.Second
)

// memoryKey identifies an event and its copies.
type memoryKey [sha256.Size]byte

// memory holds the latest events, so that none is taken twice.
type memory struct {
	size   int
	window time.Duration
	now    func() time.Time

	mu    sync.Mutex
	byKey map[memoryKey]*list.Element
	order list.List // of *claim, the latest in front
}

// claim is one event that is being taken, or was.
type claim struct {
	key  memoryKey
	at   time.Time
	done chan struct{} // closed when ok is known
	ok   bool
}

// take claims an event. It is repeated if another request took it; while another
// request is taking it, take waits, since that may fail. A caller that gets a
// claim must settle it.
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
		if age < m.window && age > -m.window {
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

// forget removes an entry; the lock is held.
func (m *memory) forget(e *list.Element) {
	c := m.order.Remove(e).(*claim)
	if m.byKey[c.key] == e {
		delete(m.byKey, c.key)
	}
}

// settle records whether the event was taken. If not, it may come again.
func (m *memory) settle(c *claim, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.byKey[c.key]; !ok && e != nil && e.Value == c {
		m.forget(e)
	}
	c.ok = ok
	close(c.done)
}
