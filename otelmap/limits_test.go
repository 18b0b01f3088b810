package otelmap

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/internal/otlp"
)

var unlimited = Limits{-1, -1, -1, -1, -1, -1, -1}

func TestLimitsBoundWhatASpanHas(t *testing.T) {
	event := func(name string) *tracepb.Span_Event {
		return &tracepb.Span_Event{Name: name, Attributes: texts("a", "1", "b", "23456")}
	}
	s := spanOf(OpChat, otlp.String("long", "12345"), otlp.Int("n", 123456), otlp.Strings("list", []string{"abcdef", "a"}), otlp.Bool("last", true))
	s.Events = []*tracepb.Span_Event{event("first"), event("second"), event("exception")}
	s.Links = []*tracepb.Span_Link{{Attributes: texts("a", "1", "b", "2")}, {}}
	m := one(s)
	if got := WithLimits(m, unlimited); !proto.Equal(got, m) {
		t.Errorf("without limits: %v", got)
	}
	before := proto.CloneOf(m)
	got := WithLimits(m, Limits{Attributes: 4, EventAttributes: 1, LinkAttributes: 1, Events: 2, Links: 1, Length: 4, OtherLength: 3}).ScopeSpans[0].Spans[0]
	if !proto.Equal(m, before) {
		t.Error("the argument was changed")
	}
	want := &tracepb.Span{
		Attributes: []*commonpb.KeyValue{
			otlp.String(KeyOperation, OpChat), otlp.String("long", "123…"), otlp.Int("n", 123456), otlp.Strings("list", []string{"abc…", "a"}),
		},
		DroppedAttributesCount: 1, DroppedEventsCount: 1, DroppedLinksCount: 1,
		Events: []*tracepb.Span_Event{
			{Name: "second", Attributes: texts("a", "1"), DroppedAttributesCount: 1},
			{Name: "exception", Attributes: texts("a", "1"), DroppedAttributesCount: 1},
		},
		Links: []*tracepb.Span_Link{{Attributes: texts("a", "1"), DroppedAttributesCount: 1}},
	}
	if !proto.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestJSONStaysJSONWithinALimit(t *testing.T) {
	long := strings.Repeat("x ä\"", 300)
	messages := encode(message(RoleUser, "first "+long), message(RoleAssistant, long), Message{Role: RoleTool, Parts: []Part{{Type: PartResponse, ID: "toolu_1", Response: long}}})
	for _, text := range []string{messages, `{"command":"npm test","stdin":` + encode(message("user", long)) + `}`} {
		for limit := 60; limit < 1500; limit += 37 {
			got, ok := shortened(text, limit)
			if !ok {
				if limit > 400 {
					t.Errorf("%d: the attribute is left out", limit)
				}
				continue
			}
			if n := utf8.RuneCountInString(got); n > limit || !json.Valid([]byte(got)) {
				t.Errorf("%d: %d characters: %s", limit, n, got)
			}
			for _, m := range Messages(got) {
				if m.Role != RoleUser && m.Role != RoleAssistant && m.Role != RoleTool || m.Parts[0].Type != PartText && m.Parts[0].Type != PartResponse {
					t.Errorf("%d: a word was cut: %s", limit, got)
				}
			}
		}
	}
	for text, want := range map[string]string{"[no JSON, but long]": "[no J…", `"a text as JSON"`: `"a t…"`, `"no" JSON`: `"no" …`, "plain text": "plain…", "短い文字列です": "短い文字列…"} {
		if got, ok := shortened(text, 6); got != want || !ok {
			t.Errorf("%q: got %q, %v", text, got, ok)
		}
	}
	// Looking at one element after the other would take hours here.
	list := "[" + strings.Repeat("1,", 300_000) + "2]"
	if got, ok := shortened(list, 8); got != "[1,1,2]" || !ok {
		t.Errorf("a long list: got %.100q, %v", got, ok)
	}
	if _, ok := shortened(`{"command":"npm test"}`, 6); ok {
		t.Error("an object that does not fit is not left out")
	}
}
