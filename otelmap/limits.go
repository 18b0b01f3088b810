package otelmap

import (
	"bytes"
	"sort"
	"strings"
	"unicode/utf8"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/termtext"
)

// Limits are OpenTelemetry's limits of spans. A negative number is no limit.
type Limits struct {
	// Attributes, EventAttributes and LinkAttributes bound the number of attributes, Events
	// and Links that of events and links of a span. The first attributes and links and the
	// last events stay.
	Attributes, EventAttributes, LinkAttributes, Events, Links int
	// Length bounds texts in a span's attributes, OtherLength those in others', in
	// characters.
	Length, OtherLength int
}

// leastText is the length in characters to which texts in JSON are cut at most. It is longer than
// the words that messages are made of.
const leastText = 20

// WithLimits returns spans within limits; what is left out is counted in them. A text that
// is JSON stays JSON: the texts in it are cut, then the first elements of a list left out or
// what [rawjson.Shorten] leaves out of an object, then the attribute. The argument is not changed.
func WithLimits(m *tracepb.ResourceSpans, l Limits) *tracepb.ResourceSpans {
	m = proto.CloneOf(m)
	for _, scope := range m.GetScopeSpans() {
		for _, s := range scope.GetSpans() {
			s.Attributes, s.DroppedAttributesCount = within(s.Attributes, s.DroppedAttributesCount, l.Attributes, l.Length)
			if n := len(s.Events) - l.Events; l.Events >= 0 && n > 0 {
				s.Events, s.DroppedEventsCount = s.Events[n:], s.DroppedEventsCount+uint32(n) //nolint:gosec // A length.
			}
			if n := len(s.Links) - l.Links; l.Links >= 0 && n > 0 {
				s.Links, s.DroppedLinksCount = s.Links[:l.Links], s.DroppedLinksCount+uint32(n) //nolint:gosec // A length.
			}
			for _, e := range s.Events {
				e.Attributes, e.DroppedAttributesCount = within(e.Attributes, e.DroppedAttributesCount, l.EventAttributes, l.OtherLength)
			}
			for _, k := range s.Links {
				k.Attributes, k.DroppedAttributesCount = within(k.Attributes, k.DroppedAttributesCount, l.LinkAttributes, l.OtherLength)
			}
		}
	}
	return m
}

// within returns the attributes within limits and how many were dropped, dropped before
// included.
func within(a []*commonpb.KeyValue, dropped uint32, most, length int) ([]*commonpb.KeyValue, uint32) {
	var out []*commonpb.KeyValue
	for _, kv := range a {
		if most >= 0 && len(out) >= most || length >= 0 && !shorten(kv.GetValue(), length) {
			dropped++
			continue
		}
		out = append(out, kv)
	}
	return out, dropped
}

// shorten cuts the texts of a value, and reports false if that is not possible.
func shorten(v *commonpb.AnyValue, limit int) bool {
	switch v := v.GetValue().(type) {
	case *commonpb.AnyValue_StringValue:
		var ok bool
		v.StringValue, ok = shortened(v.StringValue, limit)
		return ok
	case *commonpb.AnyValue_ArrayValue:
		for _, e := range v.ArrayValue.GetValues() {
			if !shorten(e, limit) {
				return false
			}
		}
	}
	return true
}

func shortened(text string, limit int) (string, bool) {
	switch {
	case utf8.RuneCountInString(text) <= limit:
		return text, true
	case limit == 0:
		return "", true
	}
	if !strings.ContainsAny(text[:1], `{["`) || rawjson.Check([]byte(text)) != nil {
		return termtext.Cut(text, limit), true
	}
	within := rawjson.Limit{Max: limit, Least: leastText, Characters: true}
	list, several := rawjson.Elements([]byte(text))
	if !several {
		short, _ := rawjson.Shorten(text, within)
		return short, len(short) > len("{}")
	}
	from := func(n int) (string, int) {
		return rawjson.Shorten("["+string(bytes.Join(list[n:], []byte(",")))+"]", within)
	}
	first := sort.Search(len(list), func(n int) bool { _, left := from(n); return left == 0 })
	short, _ := from(first)
	return short, first < len(list)
}
