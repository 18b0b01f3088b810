package store

import (
	"context"
	"errors"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/otelmap"
)

func TestMessagesAreTheSpansOfTheTrace(t *testing.T) {
	s := open(t)
	b := newBuild("messages")
	b.Root("task", otelmap.OutcomeCompleted, 9*time.Second)
	b.Tool(1, "Read", `{"path":"a"}`, 0, time.Second)
	b.Tool(1, "Read", `{"path":"b"}`, 0, time.Second)
	upload(t, s, clineTrace().Messages())
	upload(t, s, b.Messages())
	read := func() (numbers []int64, spans []*tracepb.Span) {
		t.Helper()
		var sum Summary
		err := s.Messages(t.Context(), traceID(b), func(found Summary) { sum = found }, func(number int64, message []byte) error {
			span := new(tracepb.Span)
			numbers, spans = append(numbers, number), append(spans, span)
			return proto.Unmarshal(message, span)
		})
		if err != nil || sum.Spans != 3 || sum.Title != "task" || len(spans) != 3 {
			t.Fatalf("%d spans of %+v, %v", len(spans), sum, err)
		}
		return numbers, spans
	}
	numbers, spans := read()
	for i, span := range spans {
		if !proto.Equal(span, b.Spans[i]) {
			t.Errorf("span %d is %v, want %v", i, span, b.Spans[i])
		}
	}
	got, err := s.Spans(t.Context(), []int64{numbers[2], 5, numbers[0]})
	if err != nil || len(got) != 3 || !proto.Equal(got[0], b.Spans[2]) || got[1] != nil || !proto.Equal(got[2], b.Spans[0]) {
		t.Errorf("got %v, %v", got, err)
	}
	// A span that is stored again has another number.
	b.Spans[0].Name = "changed"
	upload(t, s, b.Messages())
	if got, err = s.Spans(t.Context(), numbers); err != nil || got[0] != nil || got[1] == nil {
		t.Errorf("got %v, %v after an upload", got, err)
	}
	if numbers, spans = read(); spans[2].GetName() != "changed" || numbers[0] > numbers[1] || numbers[1] > numbers[2] {
		t.Errorf("%v: %v after an upload", numbers, spans)
	}

	if err := s.Messages(t.Context(), "abcdef", func(Summary) {}, nil); !errors.Is(err, ErrNotFound) {
		t.Errorf("a missing trace: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	err = s.Messages(ctx, traceID(b), func(Summary) { cancel() }, func(int64, []byte) error { n++; return nil })
	if !errors.Is(err, context.Canceled) || n > 1 {
		t.Errorf("%d spans after the context ended, %v", n, err)
	}
}
