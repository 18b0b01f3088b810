package otlptest

import (
	"bytes"
	"encoding/hex"

	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// ID names a span: both parts in lower-case hex.
type ID struct{ Trace, Span string }

// Span is a span as the server took it.
type Span struct {
	ID
	// Parent is the parent's span id in hex, empty for a root.
	Parent string
	Name   string
	// Proto and Resource are those of the last copy.
	Proto    *tracepb.Span
	Resource *resourcepb.Resource
	// Count is how often the span came, Changed whether any two copies that
	// followed one another differed.
	Count   int
	Changed bool

	bytes []byte
}

// Flatten lists the spans of a request in order, each with a count of 1.
func Flatten(req *coltracepb.ExportTraceServiceRequest) []*Span {
	var all []*Span
	for _, rs := range req.GetResourceSpans() {
		for _, ss := range rs.GetScopeSpans() {
			for _, s := range ss.GetSpans() {
				all = append(all, &Span{
					ID:     ID{hex.EncodeToString(s.GetTraceId()), hex.EncodeToString(s.GetSpanId())},
					Parent: hex.EncodeToString(s.GetParentSpanId()),
					Name:   s.GetName(), Proto: s, Resource: rs.GetResource(), Count: 1,
					bytes: fingerprint(s, rs, ss),
				})
			}
		}
	}
	return all
}

// fingerprint is the span with its resource and scope, for comparing copies
// that may come grouped differently.
func fingerprint(s *tracepb.Span, rs *tracepb.ResourceSpans, ss *tracepb.ScopeSpans) []byte {
	alone := &tracepb.ResourceSpans{
		Resource: rs.GetResource(), SchemaUrl: rs.GetSchemaUrl(),
		ScopeSpans: []*tracepb.ScopeSpans{{
			Scope: ss.GetScope(), SchemaUrl: ss.GetSchemaUrl(), Spans: []*tracepb.Span{s},
		}},
	}
	// What has just been decoded can be encoded.
	b, _ := proto.MarshalOptions{Deterministic: true}.Marshal(alone)
	return b
}

// collection is spans by id, as a store that upserts would hold them.
type collection struct {
	order []*Span
	byID  map[ID]*Span
}

func (c *collection) add(spans []*Span) {
	if c.byID == nil {
		c.byID = make(map[ID]*Span)
	}
	for _, s := range spans {
		old := c.byID[s.ID]
		if old == nil {
			c.byID[s.ID] = s
			c.order = append(c.order, s)
			continue
		}
		old.Count++
		old.Changed = old.Changed || !bytes.Equal(old.bytes, s.bytes)
		old.Parent, old.Name, old.Proto, old.Resource, old.bytes = s.Parent, s.Name, s.Proto, s.Resource, s.bytes
	}
}

func (c *collection) list() []Span {
	out := make([]Span, len(c.order))
	for i, s := range c.order {
		out[i] = *s
	}
	return out
}
