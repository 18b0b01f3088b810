package redact

import (
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// Spans returns copies of the spans with Tail applied to every text in them:
// names, status descriptions, and the attributes of spans, events, links and
// resources. The input is not changed; spans that shared a resource still do.
func (r *Redactor) Spans(stubs tracetest.SpanStubs) tracetest.SpanStubs {
	if stubs == nil {
		return nil
	}
	c := cleaner{r, make(map[string]string)}
	out := make(tracetest.SpanStubs, len(stubs))
	resources := make(map[*resource.Resource]*resource.Resource)
	for i, s := range stubs {
		s.Name = c.tail(s.Name)
		s.Status.Description = c.tail(s.Status.Description)
		s.Attributes = c.attributes(s.Attributes)
		if s.Events != nil {
			events := make([]trace.Event, len(s.Events))
			for j, e := range s.Events {
				e.Name = c.tail(e.Name)
				e.Attributes = c.attributes(e.Attributes)
				events[j] = e
			}
			s.Events = events
		}
		if s.Links != nil {
			links := make([]trace.Link, len(s.Links))
			for j, l := range s.Links {
				l.Attributes = c.attributes(l.Attributes)
				links[j] = l
			}
			s.Links = links
		}
		if s.Resource != nil {
			clean, seen := resources[s.Resource]
			if !seen {
				clean = resource.NewWithAttributes(s.Resource.SchemaURL(), c.attributes(s.Resource.Attributes())...)
				resources[s.Resource] = clean
			}
			s.Resource = clean
		}
		out[i] = s
	}
	return out
}

// cleaner remembers short texts: the spans of a run have most of them in common.
type cleaner struct {
	*Redactor
	seen map[string]string
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

// attributes keeps the keys: they are names out of our own table.
func (c *cleaner) attributes(attrs []attribute.KeyValue) []attribute.KeyValue {
	if attrs == nil {
		return nil
	}
	out := make([]attribute.KeyValue, len(attrs))
	for i, a := range attrs {
		a.Value = c.value(a.Value)
		out[i] = a
	}
	return out
}

func (c *cleaner) value(v attribute.Value) attribute.Value {
	switch v.Type() {
	case attribute.STRING:
		return attribute.StringValue(c.tail(v.AsString()))
	case attribute.STRINGSLICE:
		texts := v.AsStringSlice()
		clean := make([]string, len(texts))
		for i, s := range texts {
			clean[i] = c.tail(s)
		}
		return attribute.StringSliceValue(clean)
	case attribute.BYTESLICE:
		b := v.AsByteSlice()
		if utf8.Valid(b) {
			return attribute.ByteSliceValue([]byte(c.Tail(string(b))))
		}
	case attribute.SLICE:
		values := v.AsSlice()
		clean := make([]attribute.Value, len(values))
		for i, e := range values {
			clean[i] = c.value(e)
		}
		return attribute.SliceValue(clean...)
	case attribute.MAP:
		return attribute.MapValue(c.attributes(v.AsMap())...)
	}
	return v
}
