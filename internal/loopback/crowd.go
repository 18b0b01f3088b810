// Package loopback has the rules of a server for the programs of this machine: where it
// listens, what its peers can take of it, and whose requests it answers.
//
// A Crowd promises that connections without a request, however many there are, keep no
// request waiting for long: the one that has waited longest makes room for a new one.
package loopback

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// patience is how long a connection may wait for its peer's request before it makes room
// for another one: those that have just come are about to send it.
const patience = 200 * time.Millisecond

// Crowd bounds the connections of a server over all its listeners.
type Crowd struct {
	most    int
	mu      sync.Mutex
	changed sync.Cond
	// open counts the connections. waiting are those without a request that is being
	// answered, the longest first.
	open    int
	waiting list.List
	closed  bool
}

// NewCrowd returns a crowd of so many connections at most.
func NewCrowd(most int) *Crowd {
	c := &Crowd{most: most}
	c.changed.L = &c.mu
	return c
}

// Join sets up a server whose listeners are those of Listener.
func (c *Crowd) Join(s *http.Server) {
	s.ConnContext = func(ctx context.Context, conn net.Conn) context.Context { return context.WithValue(ctx, key{}, conn) }
}

type key struct{}

// Answer takes the connection of a request out of those that make room, until the
// returned function is called. It does nothing for a request of another server.
func Answer(r *http.Request) (done func()) {
	m, ok := r.Context().Value(key{}).(*member)
	if !ok {
		return func() {}
	}
	m.set(false)
	return func() { m.set(true) }
}

// Listener returns a listener whose connections are in the crowd. If all of them are
// being answered, it waits.
func (c *Crowd) Listener(l net.Listener) net.Listener { return &entrance{l, c} }

type entrance struct {
	net.Listener
	crowd *Crowd
}

// Accept implements net.Listener.
func (e *entrance) Accept() (net.Conn, error) {
	conn, err := e.Listener.Accept()
	if err != nil {
		return nil, err
	}
	m := &member{Conn: conn, crowd: e.crowd}
	if !e.crowd.admit(m) {
		_ = conn.Close()
		return nil, net.ErrClosed
	}
	return m, nil
}

// Close implements net.Listener.
func (e *entrance) Close() error {
	e.crowd.mu.Lock()
	e.crowd.closed = true
	e.crowd.changed.Broadcast()
	e.crowd.mu.Unlock()
	return e.Listener.Close()
}

// member is a connection. at is its place among those that wait, nil for one that does
// not, since is when it began to; left reports that it is not counted any more.
type member struct {
	net.Conn
	crowd *Crowd
	at    *list.Element
	since time.Time
	left  bool
}

// wait needs the lock.
func (m *member) wait() { m.at, m.since = m.crowd.waiting.PushBack(m), time.Now() }

func (c *Crowd) admit(m *member) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.open >= c.most && !c.closed {
		if oldest := c.waiting.Front(); oldest != nil {
			old := oldest.Value.(*member)
			rest := patience - time.Since(old.since)
			if rest <= 0 {
				old.leave()
				_ = old.Conn.Close()
				continue
			}
			defer time.AfterFunc(rest, c.changed.Broadcast).Stop()
		}
		c.changed.Wait()
	}
	if c.closed {
		return false
	}
	c.open++
	m.wait()
	return true
}

// leave needs the lock.
func (m *member) leave() {
	if m.left {
		return
	}
	m.left = true
	m.crowd.open--
	if m.at != nil {
		m.crowd.waiting.Remove(m.at)
	}
	m.crowd.changed.Broadcast()
}

// Close implements net.Conn.
func (m *member) Close() error {
	m.crowd.mu.Lock()
	m.leave()
	m.crowd.mu.Unlock()
	return m.Conn.Close()
}

func (m *member) set(waits bool) {
	m.crowd.mu.Lock()
	defer m.crowd.mu.Unlock()
	switch {
	case m.left || waits == (m.at != nil):
	case waits:
		m.wait()
		m.crowd.changed.Broadcast()
	default:
		m.crowd.waiting.Remove(m.at)
		m.at = nil
	}
}
