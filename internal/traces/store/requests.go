package store

import (
	"context"
	"database/sql"
	"encoding/binary"
	"hash/fnv"
	"slices"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/otelmap/step"
)

// RequestKey identifies the request to a model that a span is, in whatever session its
// rows are: the 64-bit FNV-1a hash of its id, its end and its tokens, since gateways repeat
// ids. ok is false for another span and for one without an id.
func RequestKey(s *tracepb.Span) (key uint64, ok bool) {
	one := step.Of(s)
	id := one.ResponseID()
	if id == "" || one.Kind() != step.KindRequest {
		return 0, false
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(id)) // never fails, as the next
	b := binary.BigEndian.AppendUint64([]byte{0}, s.GetEndTimeUnixNano())
	if u := one.Usage(); u != nil {
		for _, n := range []int64{u.Input, u.Output, u.CacheRead, u.CacheWrite} {
			b = binary.AppendVarint(b, n)
		}
	}
	_, _ = h.Write(b)
	return h.Sum64(), true
}

// RequestKeys are the keys of requests, in order.
type RequestKeys []uint64

// Has reports whether a key is among them.
func (k RequestKeys) Has(key uint64) bool {
	_, found := slices.BinarySearch(k, key)
	return found
}

// Requests returns the keys of the requests of all traces that are stored, and of those of
// removed ones. Each takes eight bytes.
func (s *Store) Requests(ctx context.Context) (stored, removed RequestKeys, err error) {
	for _, q := range []struct {
		keys  *RequestKeys
		query string
	}{{&stored, `SELECT requests FROM traces`}, {&removed, `SELECT requests FROM removed`}} {
		err = eachRow(context.WithoutCancel(ctx), &s.queries, func(scan func(...any) error) error {
			var b sql.RawBytes
			err := scan(&b)
			for ; len(b) >= 8; b = b[8:] {
				*q.keys = append(*q.keys, binary.BigEndian.Uint64(b))
			}
			return err
		}, q.query)
		if err != nil {
			return nil, nil, s.wrap("read the keys of requests", err)
		}
		slices.Sort(*q.keys)
	}
	return stored, removed, nil
}
