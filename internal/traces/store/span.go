package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/hookspan/hookspan/internal/otlp"
)

// storedSpan is a span and the row of what it has in common with others.
type storedSpan struct {
	*tracepb.Span
	origin *tracepb.ResourceSpans
}

// readSpans reads spans of a trace. where holds a condition and an order.
func readSpans(ctx context.Context, tx querier, where string, trace any) (out []storedSpan, err error) {
	origins := make(map[int64]*tracepb.ResourceSpans)
	err = eachRow(ctx, tx, func(scan func(...any) error) error {
		var message, origin sql.RawBytes
		var id int64
		if err := scan(&message, &id, &origin); err != nil {
			return err
		}
		if origins[id] == nil {
			origins[id] = new(tracepb.ResourceSpans)
			if err := proto.Unmarshal(origin, origins[id]); err != nil {
				return fmt.Errorf("decode stored resource %d: %w", id, err)
			}
		}
		span := new(tracepb.Span)
		if err := proto.Unmarshal(message, span); err != nil {
			return fmt.Errorf("decode stored span: %w", err)
		}
		out = append(out, storedSpan{span, origins[id]})
		return nil
	}, `SELECT s.message, s.origin, o.message FROM spans s JOIN origins o ON o.id = s.origin
		WHERE `+where, trace)
	return out, err
}

// eachSpan calls f with the ids and the spans that a condition selects. f must not
// keep the span.
func eachSpan(ctx context.Context, q querier, f func(id int64, s *tracepb.Span) error, where string, args ...any) error {
	var s tracepb.Span
	return eachMessage(ctx, q, func(id int64, message []byte) error {
		if err := proto.Unmarshal(message, &s); err != nil {
			return fmt.Errorf("%w: span %d: %w", errUndecodable, id, err)
		}
		return f(id, &s)
	}, where, args...)
}

// ofTrace is the condition for the spans of a trace, the first argument, that reads them as
// they are side by side in the file; by the index of the trace they are not.
const ofTrace = `id > ?1 << 24 AND id < (?1 + 1) << 24`

// eachMessage calls f with the ids and the encoded spans that a condition selects. f
// must not keep the bytes.
func eachMessage(ctx context.Context, q querier, f func(id int64, message []byte) error, where string, args ...any) error {
	// With a context that can end, each row costs a lock.
	return eachRow(context.WithoutCancel(ctx), q, func(scan func(...any) error) error {
		var id int64
		var message sql.RawBytes
		if err := scan(&id, &message); err != nil {
			return err
		}
		return cmp.Or(f(id, message), ctx.Err())
	}, `SELECT id, message FROM spans WHERE `+where, args...)
}

// originOf returns what the spans of a scope have in common.
func originOf(rs *tracepb.ResourceSpans, ss *tracepb.ScopeSpans) *tracepb.ResourceSpans {
	return &tracepb.ResourceSpans{
		Resource: rs.GetResource(), SchemaUrl: rs.GetSchemaUrl(),
		ScopeSpans: []*tracepb.ScopeSpans{{Scope: ss.GetScope(), SchemaUrl: ss.GetSchemaUrl()}},
	}
}

// encoder has the memory of encoded messages, until release.
type encoder struct {
	free   []byte
	blocks []*[encoderBlock]byte
}

const encoderBlock = 64 << 10

var encoderBlocks = sync.Pool{New: func() any { return new([encoderBlock]byte) }}

// memory returns an empty slice for so many bytes.
func (e *encoder) memory(size int) []byte {
	switch {
	case size > encoderBlock/4:
		return make([]byte, 0, size)
	case size > len(e.free):
		block := encoderBlocks.Get().(*[encoderBlock]byte)
		e.blocks, e.free = append(e.blocks, block), block[:]
	}
	out := e.free[:0:size]
	e.free = e.free[size:]
	return out
}

// release gives the memory to others: what was encoded must not be used any more.
func (e *encoder) release() {
	for _, block := range e.blocks {
		encoderBlocks.Put(block)
	}
}

// encode encodes a message, and returns what it has encoded: texts that are not UTF-8
// are corrected in a copy. They are too rare to look for in each message.
func encode[M proto.Message](in *encoder, m M) ([]byte, M, error) {
	options := proto.MarshalOptions{Deterministic: true}
	sized := proto.MarshalOptions{Deterministic: true, UseCachedSize: true}
	out, err := sized.MarshalAppend(in.memory(options.Size(m)), m)
	if err != nil {
		m = proto.CloneOf(m)
		correctUTF8(m.ProtoReflect())
		out, err = options.Marshal(m)
	}
	return out, m, err
}

func correctUTF8(m protoreflect.Message) {
	m.Range(func(field protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case field.IsList() && field.Message() != nil:
			for i := range v.List().Len() {
				correctUTF8(v.List().Get(i).Message())
			}
		case field.Message() != nil:
			correctUTF8(v.Message())
		case field.Kind() == protoreflect.StringKind && !field.IsList():
			m.Set(field, protoreflect.ValueOfString(strings.ToValidUTF8(v.String(), "\ufffd")))
		}
		return true
	})
}

// column returns a time in nanoseconds as the tables have it: 0 if SQLite's
// integers cannot hold it.
func column(nano uint64) int64 {
	if nano > math.MaxInt64 {
		return 0
	}
	return int64(nano)
}

func fromColumn(nano int64) time.Time { return otlp.Time(uint64(max(0, nano))) } //nolint:gosec // not negative
