package otlp

import (
	"math"
	"testing"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

func TestTextAndIntegerReadOnlyTheirType(t *testing.T) {
	attrs := []*commonpb.KeyValue{String("a", "x"), Int("b", 7), String("a", "second"), Float("c", 1.5), Bool("d", true), nil}
	if got := Text(attrs, "a"); got != "x" {
		t.Errorf("Text(a) = %q, want the first value", got)
	}
	if got := Text(attrs, "b"); got != "" {
		t.Errorf("Text of an integer = %q, want nothing", got)
	}
	if got, ok := Integer(attrs, "b"); got != 7 || !ok {
		t.Errorf("Integer(b) = %d, %v, want 7", got, ok)
	}
	if got, ok := Integer(attrs, "missing"); got != 0 || ok {
		t.Errorf("Integer of no attribute = %d, %v, want 0", got, ok)
	}
	if got := Find(attrs, "d").GetBoolValue(); !got {
		t.Error("Find(d) is false")
	}
	if got := Find([]*commonpb.KeyValue{Strings("s", []string{"x", "y"})}, "s").GetArrayValue().GetValues(); len(got) != 2 || got[1].GetStringValue() != "y" {
		t.Errorf("Find(s) = %v, want x and y", got)
	}
}

func TestSpansVisitsEveryResourceAndScope(t *testing.T) {
	span := func(name string) *tracepb.Span { return &tracepb.Span{Name: name} }
	messages := []*tracepb.ResourceSpans{
		nil,
		{ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{span("a"), span("b")}}, nil, {Spans: []*tracepb.Span{span("c")}}}},
		{ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{span("d")}}}},
	}
	var names string
	for s := range Spans(messages) {
		names += s.Name
	}
	if names != "abcd" {
		t.Errorf("visited %q, want abcd", names)
	}
	if n := Count(messages); n != 4 {
		t.Errorf("Count = %d, want 4", n)
	}
}

func TestTimes(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	s := &tracepb.Span{StartTimeUnixNano: UnixNano(at), EndTimeUnixNano: UnixNano(at.Add(time.Second))}
	if got := Start(s); got != at {
		t.Errorf("Start = %v, want %v", got, at)
	}
	if got := End(s); got != at.Add(time.Second) {
		t.Errorf("End = %v, want a second later", got)
	}
	if !Start(nil).IsZero() || UnixNano(time.Unix(-1, 0)) != 0 {
		t.Error("a missing time is not the zero time")
	}
}

func TestIdentifiersAreHexadecimal(t *testing.T) {
	s := &tracepb.Span{TraceId: []byte{0xab, 1}, SpanId: []byte{2}, ParentSpanId: nil}
	if TraceID(s) != "ab01" || SpanID(s) != "02" || ParentID(s) != "" {
		t.Errorf("ids %q %q %q", TraceID(s), SpanID(s), ParentID(s))
	}
}

func TestTimesOutsideTheRangeAreItsEnds(t *testing.T) {
	year := func(y int) time.Time { return time.Date(y, 1, 31, 0, 0, 0, 0, time.UTC) }
	last := uint64(math.MaxInt64)
	for at, want := range map[time.Time]uint64{
		{}: 0, year(1): 0, year(1026): 0, year(1602): 0, year(1677): 0, year(1969): 0, time.Unix(0, 0): 0, First: 1,
		year(2026): 1769817600_000000000, Last: last, year(2263): last, year(2554): last, year(9999): last,
	} {
		if got := UnixNano(at); got != want {
			t.Errorf("UnixNano(%v) = %d, want %d", at, got, want)
		}
	}
	if got := Time(last + 1); !got.After(Last) || got.Year() != 2262 {
		t.Errorf("the nanosecond after the last is in %v", got)
	}
}

// Backends on PostgreSQL refuse NUL. What steers a terminal or turns a text round is part of
// the text.
func TestValidText(t *testing.T) {
	for text, want := range map[string]string{
		"plain": "plain", "a\x00b\x00": "a\ufffdb\ufffd", "\xff\x00": "\ufffd\ufffd", "\x1b[31mred\x1b[0m\t\n": "\x1b[31mred\x1b[0m\t\n", "\u202eabc": "\u202eabc",
	} {
		if got := ValidText(text); got != want {
			t.Errorf("ValidText(%q) = %q, want %q", text, got, want)
		}
	}
}
