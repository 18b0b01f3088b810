package otlpjson

import (
	"encoding/json"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/internal/testkit/otlptest"
)

func TestEncodeWritesHexadecimalIDsAndNumericEnums(t *testing.T) {
	span := &tracepb.Span{
		TraceId: []byte{0xab, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, SpanId: []byte{1, 2, 3, 4, 5, 6, 7, 0xff},
		ParentSpanId: []byte{8, 7, 6, 5, 4, 3, 2, 1}, Name: "a <b> & \"c\"", Kind: tracepb.Span_SPAN_KIND_CLIENT,
		StartTimeUnixNano: 1 << 60, Status: &tracepb.Status{},
		Links: []*tracepb.Span_Link{{TraceId: make([]byte, 16), SpanId: make([]byte, 8)}},
	}
	messages := []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{span}}}}}
	before := proto.CloneOf(span)
	got, err := Encode(messages)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"ab0102030405060708090a0b0c0d0e0f","spanId":"01020304050607ff",` +
		`"parentSpanId":"0807060504030201","name":"a <b> & \"c\"","kind":3,"startTimeUnixNano":"1152921504606846976",` +
		`"links":[{"traceId":"00000000000000000000000000000000","spanId":"0000000000000000"}]}]}]}]}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if !proto.Equal(before, span) {
		t.Error("JSON changed the message")
	}
	back, err := otlptest.Messages(got)
	if err != nil {
		t.Fatal(err)
	}
	span.Status = nil
	if !proto.Equal(&tracepb.TracesData{ResourceSpans: messages}, &tracepb.TracesData{ResourceSpans: back}) {
		t.Errorf("read back %v", back)
	}
}

func FuzzEncode(f *testing.F) {
	f.Add([]byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"00ff","attributes":[{"key":"a","value":{"arrayValue":{}}}]}]}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		one, err := otlptest.Messages(data)
		if err != nil {
			return
		}
		doc, err := Encode(one)
		if err != nil {
			return // an identifier of an odd length
		}
		if !json.Valid(doc) {
			t.Errorf("no JSON: %s", doc)
		}
	})
}
