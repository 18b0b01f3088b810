package otlp

import (
	"slices"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Merge returns the spans of all messages in as few messages as there are
// different resources, and in each as few scopes as there are different ones.
// The order of the spans of one scope stays. The result shares resources, scopes
// and spans with the argument.
func Merge(messages []*tracepb.ResourceSpans) []*tracepb.ResourceSpans {
	if len(messages) < 2 {
		return messages
	}
	var out []*tracepb.ResourceSpans
	for _, from := range messages {
		i := slices.IndexFunc(out, func(to *tracepb.ResourceSpans) bool {
			return to.SchemaUrl == from.GetSchemaUrl() && proto.Equal(to.Resource, from.GetResource())
		})
		if i < 0 {
			i = len(out)
			out = append(out, &tracepb.ResourceSpans{Resource: from.GetResource(), SchemaUrl: from.GetSchemaUrl()})
		}
		for _, scope := range from.GetScopeSpans() {
			mergeScope(out[i], scope)
		}
	}
	return out
}

func mergeScope(into *tracepb.ResourceSpans, from *tracepb.ScopeSpans) {
	i := slices.IndexFunc(into.ScopeSpans, func(to *tracepb.ScopeSpans) bool {
		return to.SchemaUrl == from.GetSchemaUrl() && proto.Equal(to.Scope, from.GetScope())
	})
	if i < 0 {
		i = len(into.ScopeSpans)
		into.ScopeSpans = append(into.ScopeSpans, &tracepb.ScopeSpans{Scope: from.GetScope(), SchemaUrl: from.GetSchemaUrl()})
	}
	into.ScopeSpans[i].Spans = append(into.ScopeSpans[i].Spans, from.GetSpans()...)
}

// Batch is messages that are made span by span. The zero value is empty.
type Batch struct {
	Messages []*tracepb.ResourceSpans
	// resource and scope are where the last spans are from.
	resource *tracepb.ResourceSpans
	scope    *tracepb.ScopeSpans
}

// Add adds spans with the resource and the scope that they are from, and
// shares all of them. Spans that were added in a row from one scope stay together.
func (b *Batch) Add(resource *tracepb.ResourceSpans, scope *tracepb.ScopeSpans, spans ...*tracepb.Span) {
	if len(b.Messages) == 0 || b.resource != resource {
		b.Messages = append(b.Messages, &tracepb.ResourceSpans{Resource: resource.GetResource(), SchemaUrl: resource.GetSchemaUrl()})
	}
	last := b.Messages[len(b.Messages)-1]
	if len(last.ScopeSpans) == 0 || b.scope != scope {
		last.ScopeSpans = append(last.ScopeSpans, &tracepb.ScopeSpans{Scope: scope.GetScope(), SchemaUrl: scope.GetSchemaUrl()})
	}
	b.resource, b.scope = resource, scope
	to := last.ScopeSpans[len(last.ScopeSpans)-1]
	to.Spans = append(to.Spans, spans...)
}

// Split returns the spans of all messages in groups of at most size spans. Each
// group repeats the resource and the scope of its spans. The result shares
// resources, scopes and spans with the argument.
func Split(messages []*tracepb.ResourceSpans, size int) [][]*tracepb.ResourceSpans {
	if Count(messages) <= size {
		return [][]*tracepb.ResourceSpans{messages}
	}
	var groups [][]*tracepb.ResourceSpans
	var b Batch
	room := size
	for _, resource := range messages {
		for _, scope := range resource.GetScopeSpans() {
			for spans := scope.GetSpans(); len(spans) > 0; {
				if room == 0 {
					groups = append(groups, b.Messages)
					b, room = Batch{}, size
				}
				n := min(room, len(spans))
				b.Add(resource, scope, spans[:n]...)
				spans, room = spans[n:], room-n
			}
		}
	}
	return append(groups, b.Messages)
}

// SplitBytes returns the spans of all messages in groups of at most size spans and, as
// protobuf, of at most as many bytes, or of one larger span. A size of zero is no limit. The
// groups are as Split's.
func SplitBytes(messages []*tracepb.ResourceSpans, size, bytes int) [][]*tracepb.ResourceSpans {
	var groups [][]*tracepb.ResourceSpans
	var b Batch
	n, filled := 0, 0
	for _, resource := range messages {
		head := proto.Size(resource.GetResource())
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				more := proto.Size(span) + spanHead
				if n > 0 && (filled+more > bytes || n == size) {
					groups = append(groups, b.Messages)
					b, n, filled = Batch{}, 0, 0
				}
				if n == 0 {
					more += head
				}
				b.Add(resource, scope, span)
				n, filled = n+1, filled+more
			}
		}
	}
	return append(groups, b.Messages)
}

// spanHead is more than a span's tag and length take.
const spanHead = 8

// Size is the length of messages as protobuf, in bytes.
func Size(messages []*tracepb.ResourceSpans) (n int) {
	for _, m := range messages {
		n += proto.Size(m) + spanHead
	}
	return n
}

// Select returns the messages with only the spans for which keep returns true,
// without resources and scopes that have none. The result shares resources, scopes
// and spans with the argument.
func Select(messages []*tracepb.ResourceSpans, keep func(*tracepb.Span) bool) []*tracepb.ResourceSpans {
	var b Batch
	for _, resource := range messages {
		for _, scope := range resource.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				if keep(s) {
					b.Add(resource, scope, s)
				}
			}
		}
	}
	return b.Messages
}
