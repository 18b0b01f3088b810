package rig

import (
	"fmt"
	"net/http"
	"sync"
)

// Journal is a model's log of requests of the kind R. The zero value is empty and
// ready. It is safe for concurrent use and makes half of a Model.
type Journal[R any] struct {
	mu      sync.Mutex
	entries []*R
	arrived map[int]chan struct{}
}

// Add logs the request that enter makes; n is its number, from 1. enter has the
// journal to itself, so that a script can be advanced in it. Later changes of the
// entry take Change.
func (j *Journal[R]) Add(enter func(n int) *R) *R {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := len(j.entries) + 1
	r := enter(n)
	j.entries = append(j.entries, r)
	if ch, ok := j.arrived[n]; ok {
		close(ch)
	}
	return r
}

// Change changes an entry.
func (j *Journal[R]) Change(r *R, change func(*R)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	change(r)
}

// Requests is a copy of the entries in the order of arrival.
func (j *Journal[R]) Requests() []R {
	j.mu.Lock()
	defer j.mu.Unlock()
	out := make([]R, len(j.entries))
	for i, r := range j.entries {
		out[i] = *r
	}
	return out
}

// Log is as in Model.
func (j *Journal[R]) Log() []any {
	var out []any
	for _, r := range j.Requests() {
		out = append(out, r)
	}
	return out
}

// Seen is as in Model.
func (j *Journal[R]) Seen(n int) <-chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	ch, ok := j.arrived[n]
	if !ok {
		ch = make(chan struct{})
		if len(j.entries) >= n {
			close(ch)
		}
		if j.arrived == nil {
			j.arrived = make(map[int]chan struct{})
		}
		j.arrived[n] = ch
	}
	return ch
}

// BreakOff ends the connection of a request in the midst of its answer.
func BreakOff(w http.ResponseWriter) {
	rc := http.NewResponseController(w)
	_ = rc.Flush()
	if conn, _, err := rc.Hijack(); err == nil {
		_ = conn.Close()
	}
}

// CallAnew is the id of the i-th call, from 0, of an answer of a model that numbers its calls
// anew in each answer.
func CallAnew(i int) string { return fmt.Sprintf("call_%d", i) }
