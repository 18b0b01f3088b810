package redact

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
)

// message is a run with text s in every place that holds text.
func message(s string) *tracepb.ResourceSpans {
	kv := func(key string, v *commonpb.AnyValue) *commonpb.KeyValue {
		return &commonpb.KeyValue{Key: key, Value: v}
	}
	text := &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: s}}
	number := &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: 7}}
	attrs := []*commonpb.KeyValue{
		kv("text", text),
		kv("bytes", &commonpb.AnyValue{Value: &commonpb.AnyValue_BytesValue{BytesValue: []byte(s)}}),
		kv("values", &commonpb.AnyValue{Value: &commonpb.AnyValue_ArrayValue{
			ArrayValue: &commonpb.ArrayValue{Values: []*commonpb.AnyValue{number, text}},
		}}),
		kv("map", &commonpb.AnyValue{Value: &commonpb.AnyValue_KvlistValue{
			KvlistValue: &commonpb.KeyValueList{Values: []*commonpb.KeyValue{kv("k", text)}},
		}}),
		kv("number", number),
	}
	run := &tracepb.ResourceSpans{
		SchemaUrl: "https://schema.example/1",
		Resource:  &resourcepb.Resource{Attributes: []*commonpb.KeyValue{kv("host", text)}},
		ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{
			{
				Name: "run " + s, Attributes: attrs,
				Status: &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: s},
				Events: []*tracepb.Span_Event{{Name: s, Attributes: attrs}},
				Links:  []*tracepb.Span_Link{{Attributes: attrs}},
			},
			{Name: "bare"},
		}}},
	}
	return proto.CloneOf(run) // no part is shared
}

func TestSpansRedactsEveryText(t *testing.T) {
	key := "gh" + "p_" + strings.Repeat("aB3d", 9)
	in := message(key)
	got := New(nil).Spans(in)
	if d := cmp.Diff(message("[REDACTED:github-token]"), got, protocmp.Transform()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if !proto.Equal(in, message(key)) {
		t.Error("the input was changed")
	}
}

func TestSpansUsesTail(t *testing.T) {
	got := New(nil).Spans(message("gh" + "p_aB3daB3daB3d…"))
	if d := cmp.Diff(message("[REDACTED:github-token]…"), got, protocmp.Transform()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestSpansKeepsWhatIsNotText(t *testing.T) {
	in := message("plain")
	if d := cmp.Diff(in, New(nil).Spans(in), protocmp.Transform()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if New(nil).Spans(nil) != nil {
		t.Error("no spans became some")
	}
}

// TestCleanTextsAreNotScannedAgain checks that only texts in which redaction changes
// nothing are remembered, and that what is cut from them is looked at again.
func TestCleanTextsAreNotScannedAgain(t *testing.T) {
	r := New(nil)
	knows := func(s string) bool { return r.clean.has(r.clean.hash(s)) }
	key := "gh" + "p_" + strings.Repeat("aB3d", 9)
	for _, s := range []string{"plain", key, "name " + key + " end", "gh" + "p_aB3daB3daB3d", "é\xff"} {
		clean := r.Tail(s)
		if !knows(clean) {
			t.Errorf("%q: the result %q is not remembered", s, clean)
		}
		if s != clean && knows(s) {
			t.Errorf("%q is remembered, and is %q without secrets", s, clean)
		}
		r.String(s + " whole")
		if knows(s + " whole") {
			t.Errorf("%q is remembered, but was taken for complete", s+" whole")
		}
	}
	whole := strings.Repeat("plain ", 50)
	if r.Preview(whole, 200); knows(whole) {
		t.Error("a text of which only the beginning is kept is remembered")
	}
	if r.Preview(whole, 300); !knows(whole) {
		t.Error("a preview that is the whole text is not remembered")
	}
	// The newest texts are remembered, however many there are.
	for n := range 2 * cleanSize {
		r.Tail(fmt.Sprint(n))
	}
	kept := 0
	for n := range 2 * cleanSize {
		if knows(fmt.Sprint(n)) {
			kept++
		}
	}
	if !knows(fmt.Sprint(2*cleanSize-1)) || kept < cleanSize/2 || kept > cleanSize {
		t.Errorf("%d of %d texts are remembered, and the newest one: %t", kept, 2*cleanSize, knows(fmt.Sprint(2*cleanSize-1)))
	}
}
