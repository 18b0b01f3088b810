package redact

import (
	"unicode/utf8"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Spans returns a copy of the message with Tail applied to every text in it:
// names, status messages, and the attributes of spans, events, links and
// resources. The argument is not changed.
func (r *Redactor) Spans(message *tracepb.ResourceSpans) *tracepb.ResourceSpans {
	c := cleaner{r, make(map[string]string)}
	out := proto.CloneOf(message)
	c.attributes(out.GetResource().GetAttributes())
	for _, scope := range out.GetScopeSpans() {
		for _, s := range scope.GetSpans() {
			c.span(s)
		}
	}
	return out
}

// cleaner remembers short texts: the spans of a run have most of them in common.
type cleaner struct {
	*Redactor
	seen map[string]string
}

func (c *cleaner) span(s *tracepb.Span) {
	s.Name = c.tail(s.GetName())
	if s.Status != nil {
		s.Status.Message = c.tail(s.Status.GetMessage())
	}
	c.attributes(s.Attributes)
	for _, e := range s.GetEvents() {
		e.Name = c.tail(e.GetName())
		c.attributes(e.Attributes)
	}
	for _, l := range s.GetLinks() {
		c.attributes(l.GetAttributes())
	}
}

// attributes keeps the keys: they are names out of the project's own table.
func (c *cleaner) attributes(attrs []*commonpb.KeyValue) {
	for _, kv := range attrs {
		c.value(kv.GetValue())
	}
}

func (c *cleaner) value(v *commonpb.AnyValue) {
	switch v := v.GetValue().(type) {
	case *commonpb.AnyValue_StringValue:
		v.StringValue = c.tail(v.StringValue)
	case *commonpb.AnyValue_BytesValue:
		if utf8.Valid(v.BytesValue) {
			v.BytesValue = []byte(c.Tail(string(v.BytesValue)))
		}
	case *commonpb.AnyValue_ArrayValue:
		for _, e := range v.ArrayValue.GetValues() {
			c.value(e)
		}
	case *commonpb.AnyValue_KvlistValue:
		c.attributes(v.KvlistValue.GetValues())
	}
}

// remembered is the size in bytes up to which a text is remembered, and
// rememberedTexts how many of them are.
const (
	remembered      = 128
	rememberedTexts = 4096
)

func (c *cleaner) tail(s string) string {
	if len(s) > remembered {
		return c.Tail(s)
	}
	clean, ok := c.seen[s]
	if !ok {
		if len(c.seen) == rememberedTexts {
			clear(c.seen)
		}
		clean = c.Tail(s)
		c.seen[s] = clean
	}
	return clean
}
