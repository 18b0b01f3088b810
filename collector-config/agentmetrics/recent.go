package agentmetrics

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
	"go.opentelemetry.io/collector/pdata/pcommon"
)

// maxRecent is how many spans are remembered.
const maxRecent = 1 << 20

// recent are the spans that came last, in chunks as they are stored.
type recent struct {
	ids    map[uint64]struct{}
	chunks [][]uint64
	// first is the number of chunks[0]. In the storage are those from oldest up to
	// stored.
	first, oldest, stored uint64
}

// spanID names a span by 64 bits: among a million spans two share it once in thirty
// million times.
func spanID(trace pcommon.TraceID, span pcommon.SpanID) uint64 {
	var b [24]byte
	copy(b[:16], trace[:])
	copy(b[16:], span[:])
	return xxhash.Sum64(b[:])
}

// add reports whether the span is new.
func (r *recent) add(id uint64) bool {
	if _, ok := r.ids[id]; ok {
		return false
	}
	r.ids[id] = struct{}{}
	return true
}

// keep makes a chunk of spans that were added, and forgets the oldest ones.
func (r *recent) keep(chunk []uint64) {
	r.chunks = append(r.chunks, chunk)
	for len(r.ids) > maxRecent && len(r.chunks) > 1 {
		for _, id := range r.chunks[0] {
			delete(r.ids, id)
		}
		r.chunks = r.chunks[1:]
		r.first++
	}
}

func encodeIDs(ids []uint64) []byte {
	b := make([]byte, 0, 8*len(ids))
	for _, id := range ids {
		b = binary.LittleEndian.AppendUint64(b, id)
	}
	return b
}

func decodeIDs(b []byte) []uint64 {
	ids := make([]uint64, 0, len(b)/8)
	for ; len(b) >= 8; b = b[8:] {
		ids = append(ids, binary.LittleEndian.Uint64(b))
	}
	return ids
}

// maxTraces is how many traces each half of the memory of traces has.
const maxTraces = 50000

// facts are what the root of a trace says of all its spans.
type facts struct {
	own      []string
	imported bool
}

// traces remembers facts of the traces that came last.
type traces struct{ now, before map[pcommon.TraceID]facts }

func (t *traces) of(id pcommon.TraceID) facts {
	f, ok := t.now[id]
	if !ok {
		f = t.before[id]
	}
	return f
}

func (t *traces) learn(id pcommon.TraceID, f facts) {
	if t.now == nil || len(t.now) >= maxTraces {
		t.now, t.before = map[pcommon.TraceID]facts{}, t.now
	}
	t.now[id] = f
}
