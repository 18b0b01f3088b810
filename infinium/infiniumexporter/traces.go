package infiniumexporter

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/maphash"

	"go.opentelemetry.io/collector/pdata/ptrace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/hookspan/hookspan/internal/otlp"
)

// item is one span of a request.
type item struct {
	home *home
	span *tracepb.Span
	// key distinguishes the spans of a trace: the span id, or the hash of a span
	// without one.
	key string
	// hash is of the whole span, so that a changed span is no repetition.
	hash uint64
}

// home is what the spans of one instrumentation scope share. Neither message
// holds its spans.
type home struct {
	resource *tracepb.ResourceSpans
	scope    *tracepb.ScopeSpans
}

// part is what a request holds of one trace.
type part struct {
	trace string
	items []*item
}

var seed = maphash.MakeSeed()

// split copies a request, whose memory the Collector may reuse after its push, and
// sorts it by trace, in the order in which the traces first appear.
func split(td ptrace.Traces) ([]part, error) {
	data, err := messages(td)
	if err != nil {
		return nil, err
	}
	var parts []part
	at := make(map[string]int)
	var buf []byte
	for _, rs := range data.ResourceSpans {
		scopes := rs.ScopeSpans
		rs.ScopeSpans = nil
		for _, ss := range scopes {
			h := &home{rs, ss}
			spans := ss.Spans
			ss.Spans = nil
			for _, s := range spans {
				if buf, err = (proto.MarshalOptions{Deterministic: true}).MarshalAppend(buf[:0], s); err != nil {
					return nil, err
				}
				it := &item{home: h, span: s, key: string(s.SpanId), hash: maphash.Bytes(seed, buf)}
				if it.key == "" {
					it.key = string(binary.BigEndian.AppendUint64(nil, it.hash))
				}
				i, ok := at[string(s.TraceId)]
				if !ok {
					i = len(parts)
					at[string(s.TraceId)] = i
					parts = append(parts, part{trace: string(s.TraceId)})
				}
				parts[i].items = append(parts[i].items, it)
			}
		}
	}
	return parts, nil
}

// messages are the request's OTLP messages, with invalid UTF-8 repaired, which the
// Collector does not reject.
func messages(td ptrace.Traces) (*tracepb.TracesData, error) {
	var m ptrace.ProtoMarshaler
	b, err := m.MarshalTraces(td)
	if err != nil {
		return nil, err
	}
	data := &tracepb.TracesData{}
	if proto.Unmarshal(b, data) == nil {
		return data, nil
	}
	data.Reset()
	if err := proto.Unmarshal(validText(b, data.ProtoReflect().Descriptor()), data); err != nil {
		return nil, fmt.Errorf("read a request: %w", err)
	}
	return data, nil
}

// validText returns an encoded message with each string in it made valid UTF-8.
func validText(b []byte, d protoreflect.MessageDescriptor) []byte {
	var out []byte
	for len(b) > 0 {
		num, kind, tag := protowire.ConsumeTag(b)
		n := protowire.ConsumeFieldValue(num, kind, b[max(tag, 0):])
		if tag < 0 || n < 0 {
			return append(out, b...) // not a message, as its reader will say
		}
		field, whole := d.Fields().ByNumber(num), b[:tag+n]
		b = b[tag+n:]
		value, _ := protowire.ConsumeBytes(whole[tag:])
		switch {
		case kind != protowire.BytesType || field == nil:
			out = append(out, whole...)
			continue
		case field.Kind() == protoreflect.StringKind:
			value = bytes.ToValidUTF8(value, []byte("\uFFFD"))
		case field.Kind() == protoreflect.MessageKind:
			value = validText(value, field.Message())
		}
		out = protowire.AppendBytes(protowire.AppendTag(out, num, kind), value)
	}
	return out
}

// together are the items as messages, in their order.
func together(items []*item) []*tracepb.ResourceSpans {
	var b otlp.Batch
	for _, it := range items {
		b.Add(it.home.resource, it.home.scope, it.span)
	}
	return b.Messages
}

// merged is the items as one request.
func merged(items []*item) (ptrace.Traces, error) {
	b, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: together(items)})
	if err != nil {
		return ptrace.Traces{}, err
	}
	var u ptrace.ProtoUnmarshaler
	return u.UnmarshalTraces(b)
}
