package redact

import (
	"strings"
	"sync"
	"unicode/utf8"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Spans returns a copy of the message with Tail applied to every text in it:
// names, status messages, and the attributes of spans, events, links and
// resources. The argument is not changed.
func (r *Redactor) Spans(message *tracepb.ResourceSpans) *tracepb.ResourceSpans {
	out := proto.CloneOf(message)
	r.attributes(out.GetResource().GetAttributes())
	for _, scope := range out.GetScopeSpans() {
		for _, s := range scope.GetSpans() {
			r.span(s)
		}
	}
	return out
}

func (r *Redactor) span(s *tracepb.Span) {
	s.Name = r.Tail(s.GetName())
	if s.Status != nil {
		s.Status.Message = r.Tail(s.Status.GetMessage())
	}
	r.attributes(s.Attributes)
	for _, e := range s.GetEvents() {
		e.Name = r.Tail(e.GetName())
		r.attributes(e.Attributes)
	}
	for _, l := range s.GetLinks() {
		r.attributes(l.GetAttributes())
	}
}

// attributes keeps the keys: they are names out of the project's own table.
func (r *Redactor) attributes(attrs []*commonpb.KeyValue) {
	for _, kv := range attrs {
		r.value(kv.GetValue())
	}
}

func (r *Redactor) value(v *commonpb.AnyValue) {
	switch v := v.GetValue().(type) {
	case *commonpb.AnyValue_StringValue:
		v.StringValue = r.Tail(v.StringValue)
	case *commonpb.AnyValue_BytesValue:
		if utf8.Valid(v.BytesValue) {
			v.BytesValue = []byte(r.Tail(string(v.BytesValue)))
		}
	case *commonpb.AnyValue_ArrayValue:
		for _, e := range v.ArrayValue.GetValues() {
			r.value(e)
		}
	case *commonpb.AnyValue_KvlistValue:
		r.attributes(v.KvlistValue.GetValues())
	}
}

// cleanTexts remembers texts without secrets: the spans have those that the mapping
// has cleaned, and most of one span's texts are in the others too. It may be used by
// several goroutines at once.
type cleanTexts struct {
	mu   sync.Mutex
	set  map[string]struct{}
	size int
}

const (
	// longestClean is the size in bytes of the longest text that is remembered,
	// mostClean that of all of them.
	longestClean, mostClean = 64 << 10, 4 << 20
	// shortText is the longest one that is remembered when nothing but Tail has seen
	// it: longer ones seldom return.
	shortText = 128
)

func (c *cleanTexts) has(s string) bool {
	if len(s) > longestClean {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.set[s]
	return ok
}

// add keeps a copy, as s may be a part of a larger text.
func (c *cleanTexts) add(s string) {
	if len(s) > longestClean {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.set == nil {
		c.set = make(map[string]struct{})
	}
	if c.size += len(s); c.size > mostClean {
		clear(c.set)
		c.size = len(s)
	}
	c.set[strings.Clone(s)] = struct{}{}
}
