package infiniumexporter

// memory records which spans Infinium has accepted, so that Infinium does not
// show a repetition twice. It holds the spans accepted last: at most a given number
// and at least half of it, if there were as many; older ones count as new again. It
// is not safe for concurrent use.
type memory struct {
	half        int // of the number
	recent, old map[sentSpan]struct{}
}

type sentSpan struct {
	trace string
	hash  uint64
}

func newMemory(most int) *memory {
	return &memory{half: most / 2, recent: make(map[sentSpan]struct{})}
}

func (m *memory) has(trace string, hash uint64) bool {
	_, recent := m.recent[sentSpan{trace, hash}]
	_, old := m.old[sentSpan{trace, hash}]
	return recent || old
}

func (m *memory) add(trace string, hash uint64) {
	if len(m.recent) >= m.half {
		m.old, m.recent = m.recent, make(map[sentSpan]struct{})
	}
	m.recent[sentSpan{trace, hash}] = struct{}{}
}
