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
	out := make(tracetest.SpanStubs, len(stubs))
	resources := make(map[*resource.Resource]*resource.Resource)
	for i, s := range stubs {
		s.Name = r.Tail(s.Name)
		s.Status.Description = r.Tail(s.Status.Description)
		s.Attributes = r.attributes(s.Attributes)
		if s.Events != nil {
			events := make([]trace.Event, len(s.Events))
			for j, e := range s.Events {
				e.Name = r.Tail(e.Name)
				e.Attributes = r.attributes(e.Attributes)
				events[j] = e
			}
			s.Events = events
		}
		if s.Links != nil {
			links := make([]trace.Link, len(s.Links))
			for j, l := range s.Links {
				l.Attributes = r.attributes(l.Attributes)
				links[j] = l
			}
			s.Links = links
		}
		if s.Resource != nil {
			clean, seen := resources[s.Resource]
			if !seen {
				clean = resource.NewWithAttributes(s.Resource.SchemaURL(), r.attributes(s.Resource.Attributes())...)
				resources[s.Resource] = clean
			}
			s.Resource = clean
		}
		out[i] = s
	}
	return out
}

// attributes keeps the keys: they are names out of our own table.
func (r *Redactor) attributes(attrs []attribute.KeyValue) []attribute.KeyValue {
	if attrs == nil {
		return nil
	}
	out := make([]attribute.KeyValue, len(attrs))
	for i, a := range attrs {
		a.Value = r.value(a.Value)
		out[i] = a
	}
	return out
}

func (r *Redactor) value(v attribute.Value) attribute.Value {
	switch v.Type() {
	case attribute.STRING:
		return attribute.StringValue(r.Tail(v.AsString()))
	case attribute.STRINGSLICE:
		texts := v.AsStringSlice()
		clean := make([]string, len(texts))
		for i, s := range texts {
			clean[i] = r.Tail(s)
		}
		return attribute.StringSliceValue(clean)
	case attribute.BYTESLICE:
		b := v.AsByteSlice()
		if utf8.Valid(b) {
			return attribute.ByteSliceValue([]byte(r.Tail(string(b))))
		}
	case attribute.SLICE:
		values := v.AsSlice()
		clean := make([]attribute.Value, len(values))
		for i, e := range values {
			clean[i] = r.value(e)
		}
		return attribute.SliceValue(clean...)
	case attribute.MAP:
		return attribute.MapValue(r.attributes(v.AsMap())...)
	}
	return v
}
