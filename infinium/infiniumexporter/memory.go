package infiniumexporter

import (
	"container/list"
)

// memory records which spans Infinium has accepted, so that Infinium does not
// show a repetition twice. It holds the traces that were sent last, up to a number
// of spans; older ones count as new again. It is not safe for concurrent use.
type memory struct {
	most  int        // spans
	spans int        // held, with what the traces themselves cost
	order *list.List // of *sentTrace, the last sent in front
	byID  map[string]*list.Element
}

// traceCost is what a trace takes beside its spans, in spans.
const traceCost = 8

type sentTrace struct {
	id     string
	hashes map[uint64]struct{}
}

func newMemory(most int) *memory {
	return &memory{most: most, order: list.New(), byID: make(map[string]*list.Element)}
}

func (m *memory) has(id string, hash uint64) bool {
	e, ok := m.byID[id]
	if !ok {
		return false
	}
	_, ok = e.Value.(*sentTrace).hashes[hash]
	return ok
}

func (m *memory) add(id string, hash uint64) {
	e, ok := m.byID[id]
	if !ok {
		e = m.order.PushFront(&sentTrace{id: id, hashes: make(map[uint64]struct{})})
		m.byID[id] = e
		m.spans += traceCost
	}
	m.order.MoveToFront(e)
	t := e.Value.(*sentTrace)
	if _, ok := t.hashes[hash]; !ok {
		t.hashes[hash] = struct{}{}
		m.spans++
	}
	for m.spans > m.most {
		e := m.order.Back()
		t := e.Value.(*sentTrace)
		m.spans -= len(t.hashes) + traceCost
		delete(m.byID, t.id)
		m.order.Remove(e)
	}
}
