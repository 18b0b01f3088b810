package otlp

import (
	"bytes"
	"testing"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

func skimmed() *tracepb.Span {
	return &tracepb.Span{
		TraceId: bytes.Repeat([]byte{7}, 16), SpanId: bytes.Repeat([]byte{8}, 8), ParentSpanId: bytes.Repeat([]byte{9}, 8), TraceState: "a=b", Flags: 0x101,
		Name: "execute_tool", Kind: tracepb.Span_SPAN_KIND_CLIENT, StartTimeUnixNano: 1 << 60, EndTimeUnixNano: 1<<60 + 5,
		Attributes: []*commonpb.KeyValue{
			String("text", "long"), String("tool", "bash"), Int("count", -3), Float("cost", 0.25), Bool("odd", true), Strings("list", []string{"x"}), String("task", "do it"),
		},
		Events: []*tracepb.Span_Event{
			{Name: "hook", TimeUnixNano: 1<<60 + 1, Attributes: []*commonpb.KeyValue{String("text", "y"), String("tool", "deny")}},
			{Name: "note"},
		},
		Links:  []*tracepb.Span_Link{{TraceId: bytes.Repeat([]byte{1}, 16)}},
		Status: &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: "exit code 1"},
	}
}

func TestSkimmerKeepsWhatIsChosen(t *testing.T) {
	whole, err := proto.Marshal(skimmed())
	if err != nil {
		t.Fatal(err)
	}
	k := NewSkimmer([]string{"tool", "count", "cost", "odd", "list"})
	want := &tracepb.Span{
		SpanId: bytes.Repeat([]byte{8}, 8), ParentSpanId: bytes.Repeat([]byte{9}, 8), Flags: 0x101, Name: "execute_tool", StartTimeUnixNano: 1 << 60, EndTimeUnixNano: 1<<60 + 5,
		Attributes: []*commonpb.KeyValue{String("tool", "bash"), Int("count", -3), Float("cost", 0.25), Bool("odd", true), Strings("list", []string{"x"})},
		Events:     []*tracepb.Span_Event{{Name: "hook", TimeUnixNano: 1<<60 + 1, Attributes: []*commonpb.KeyValue{String("tool", "deny")}}, {Name: "note"}},
		Status:     &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: "exit code 1"},
	}
	small, err := proto.Marshal(&tracepb.Span{SpanId: []byte{1}, Name: "small"})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // The second time it has what the first left.
		got, err := k.Span(whole)
		if err != nil || !proto.Equal(got, want) {
			t.Errorf("got %v, %v\nwant %v", got, err, want)
		}
		got, err = k.Span(small)
		if err != nil || !proto.Equal(got, &tracepb.Span{SpanId: []byte{1}, Name: "small"}) {
			t.Errorf("got %v, %v of the small span", got, err)
		}
	}
}

// FuzzSkimmer compares with the decoder of the protocol, on what the encoder writes.
func FuzzSkimmer(f *testing.F) {
	whole, err := proto.Marshal(skimmed())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)-3])
	f.Add([]byte{0x4a, 0x02, 0x12, 0x00})
	f.Fuzz(func(t *testing.T, message []byte) {
		_, _ = NewSkimmer([]string{"tool"}).Span(message)
		var want tracepb.Span
		if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(message, &want); err != nil {
			return
		}
		written, err := proto.Marshal(&want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := NewSkimmer([]string{"tool"}).Span(written)
		if err != nil {
			t.Fatalf("not read: %v", err)
		}
		if got.GetName() != want.GetName() || !bytes.Equal(got.GetSpanId(), want.GetSpanId()) || got.GetStartTimeUnixNano() != want.GetStartTimeUnixNano() || got.GetFlags() != want.GetFlags() ||
			!proto.Equal(got.GetStatus(), want.GetStatus()) || len(got.GetEvents()) != len(want.GetEvents()) || Text(got.GetAttributes(), "tool") != Text(want.GetAttributes(), "tool") {
			t.Errorf("got %v, want %v", got, &want)
		}
	})
}
