package deliver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
)

// shelf is a store with traces of three spans each: trace n is "000...n".
type shelf map[string][]*tracepb.ResourceSpans

func newShelf(traces int) (shelf, []StoredTrace) {
	s, list := shelf{}, []StoredTrace(nil)
	for n := range traces {
		id := make([]byte, 16)
		id[15] = byte(n)
		var spans []*tracepb.Span
		for i := range 3 {
			span := &tracepb.Span{TraceId: id, SpanId: []byte{1, 0, 0, 0, 0, 0, byte(n), byte(i)}}
			if span.Attributes = []*commonpb.KeyValue{otlp.String(otelmap.KeyHost, "test")}; i > 0 {
				span.ParentSpanId, span.Attributes = spans[0].SpanId, nil
			}
			spans = append(spans, span)
		}
		s[otlp.TraceID(spans[0])] = message(spans...)
		list = append(list, StoredTrace{ID: otlp.TraceID(spans[0]), Session: fmt.Sprint("session ", n/2)})
	}
	return s, list
}

func (s shelf) get(_ context.Context, id string) ([]*tracepb.ResourceSpans, error) {
	if s[id] == nil {
		return nil, errors.New("no such trace")
	}
	return s[id], nil
}

// about reports a call that is about a trace with this number.
func about(messages []*tracepb.ResourceSpans, n byte) bool {
	for s := range otlp.Spans(messages) {
		if s.TraceId[15] == n {
			return true
		}
	}
	return false
}

func TestFill(t *testing.T) {
	down := &Error{Err: errors.New("connection refused")}
	for _, tt := range []struct {
		name  string
		batch int
		join  bool
		// before is the destination's answer to the nth call.
		before func(n int, messages []*tracepb.ResourceSpans) error
		want   Filled
		calls  int
	}{
		{"together as many as fit", 7, false, nil, Filled{Traces: 5, Spans: 15}, 3},
		{"each trace is a document", 0, false, nil, Filled{Traces: 5, Spans: 15}, 5},
		{"each session is a document", 0, true, nil, Filled{Traces: 5, Spans: 15}, 3},
		{"a trace is larger than a batch", 2, false, nil, Filled{Traces: 5, Spans: 15}, 10},
		{
			"down for a while", 100, false, func(n int, _ []*tracepb.ResourceSpans) error {
				if n < fillTries {
					return down
				}
				return nil
			}, Filled{Traces: 5, Spans: 15}, fillTries,
		},
		{
			"down from the third trace on", 3, false, func(_ int, m []*tracepb.ResourceSpans) error {
				if about(m, 0) || about(m, 1) {
					return nil
				}
				return down
			},
			Filled{Traces: 2, Spans: 6, Left: 3, Next: strings.Repeat("0", 31) + "2", Errors: []string{"connection refused"}},
			2 + fillTries,
		},
		{
			"a trace is rejected among others", 100, false, func(_ int, m []*tracepb.ResourceSpans) error {
				if about(m, 1) {
					return &Error{Err: errors.New("400 Bad Request"), Permanent: true}
				}
				return nil
			},
			Filled{Traces: 4, Spans: 12, Refused: 1, Errors: []string{"trace " + strings.Repeat("0", 31) + "1: 400 Bad Request"}},
			6,
		},
		{
			"the key is wrong", 0, false, func(int, []*tracepb.ResourceSpans) error {
				return &Error{Err: errors.New("401 Unauthorized"), Permanent: true}
			},
			Filled{Refused: 3, Left: 2, Next: strings.Repeat("0", 31) + "3", Errors: []string{
				"trace " + strings.Repeat("0", 32) + ": 401 Unauthorized",
				"trace " + strings.Repeat("0", 31) + "1: 401 Unauthorized",
				"trace " + strings.Repeat("0", 31) + "2: 401 Unauthorized",
			}},
			3,
		},
		{
			"the key ends after the first trace", 0, false, func(n int, _ []*tracepb.ResourceSpans) error {
				if n == 1 {
					return nil
				}
				return &Error{Err: errors.New("401 Unauthorized"), Permanent: true, Denied: true}
			},
			Filled{Traces: 1, Spans: 3, Refused: 3, Left: 1, Next: strings.Repeat("0", 31) + "4", Denied: []string{
				strings.Repeat("0", 31) + "1", strings.Repeat("0", 31) + "2", strings.Repeat("0", 31) + "3",
			}, Errors: []string{
				"trace " + strings.Repeat("0", 31) + "1: 401 Unauthorized",
				"trace " + strings.Repeat("0", 31) + "2: 401 Unauthorized",
				"trace " + strings.Repeat("0", 31) + "3: 401 Unauthorized",
			}},
			4,
		},
		{
			"the wait is too long", 100, false, func(int, []*tracepb.ResourceSpans) error {
				return &Error{Err: errors.New("429"), After: time.Hour}
			},
			Filled{Left: 5, Next: strings.Repeat("0", 32), Errors: []string{"429"}},
			1,
		},
		{
			"a span is rejected", 100, false, func(_ int, m []*tracepb.ResourceSpans) error {
				if about(m, 4) {
					return &Error{Err: errors.New("too old"), Rejected: 1}
				}
				return nil
			},
			Filled{Traces: 5, Spans: 14, Errors: []string{"trace " + strings.Repeat("0", 31) + "4: 1 of 3 spans rejected: too old"}},
			6,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			s, list := newShelf(5)
			dst := &memory{}
			if tt.before != nil {
				dst.before = func(_ context.Context, m []*tracepb.ResourceSpans) error { return tt.before(dst.calls, m) }
			}
			to := Destination{Name: "otlp", Client: dst, Batch: tt.batch}
			if tt.join {
				to.Join = func(runs []*tracepb.ResourceSpans) *tracepb.ResourceSpans {
					out := rootFirst(runs)
					return out
				}
			}
			d := b.deliverer(to)
			steps := 0
			d.Progress = func() { steps++ }
			got, err := d.Fill(t.Context(), &d.Destinations[0], list, s.get)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if dst.calls != tt.calls {
				t.Errorf("%d calls, want %d", dst.calls, tt.calls)
			}
			if !tt.join && steps != len(list)-got.Left {
				t.Errorf("%d steps of progress, want %d", steps, len(list)-got.Left)
			}
		})
	}
}

// TestFillSendsWhatIsStored compares the spans, which another run of one trace must
// not change.
func TestFillSendsWhatIsStored(t *testing.T) {
	b := newBench(t)
	s, list := newShelf(2)
	first := s[list[0].ID]
	second := &tracepb.Span{
		TraceId: first[0].ScopeSpans[0].Spans[0].TraceId, SpanId: []byte{2, 0, 0, 0, 0, 0, 0, 1},
		Attributes: []*commonpb.KeyValue{otlp.String(otelmap.KeyHost, "test")},
	}
	stray := &tracepb.Span{TraceId: second.TraceId, SpanId: []byte{2, 0, 0, 0, 0, 0, 0, 2}, ParentSpanId: []byte{9, 9, 9, 9, 9, 9, 9, 9}}
	s[list[0].ID] = append(first, message(second, stray)...)
	dst := &memory{}
	d := b.deliverer(Destination{Name: "infinium", Client: dst})
	got, err := d.Fill(t.Context(), &d.Destinations[0], list, s.get)
	if err != nil || got.Traces != 2 || got.Spans != 8 || dst.calls != 3 {
		t.Errorf("got %+v in %d calls, %v, want 2 traces in 3 calls", got, dst.calls, err)
	}
	var want []*tracepb.ResourceSpans
	for _, trace := range list {
		want = append(want, s[trace.ID]...)
	}
	wantIDs(t, "sent", idsOf(want...), dst.ids())
	if dst.doubles() > 0 {
		t.Errorf("%d spans were sent twice", dst.doubles())
	}
}

func TestFillEndsWithoutATrace(t *testing.T) {
	b := newBench(t)
	s, list := newShelf(3)
	delete(s, list[1].ID)
	dst := &memory{}
	d := b.deliverer(Destination{Name: "otlp", Client: dst})
	got, err := d.Fill(t.Context(), &d.Destinations[0], list, s.get)
	if err == nil || got.Traces != 1 || got.Left != 2 {
		t.Errorf("got %+v, %v, want one trace and the store's error", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dst.before = func(context.Context, []*tracepb.ResourceSpans) error { return ctx.Err() }
	if got, err := d.Fill(ctx, &d.Destinations[0], list[:1], s.get); !errors.Is(err, context.Canceled) || got.Left != 1 {
		t.Errorf("canceled: %+v, %v", got, err)
	}
}

func TestFillLeavesOutWhatIsGone(t *testing.T) {
	for _, batch := range []int{0, 7, 100} {
		s, list := newShelf(5)
		d := newBench(t).deliverer(Destination{Name: "otlp", Batch: batch, Client: &memory{}})
		sent, err := d.Fill(t.Context(), &d.Destinations[0], list, func(ctx context.Context, id string) ([]*tracepb.ResourceSpans, error) {
			if id == list[1].ID || id == list[4].ID {
				return nil, nil
			}
			return s.get(ctx, id)
		})
		if d := cmp.Diff(Filled{Traces: 3, Spans: 9}, sent); d != "" || err != nil {
			t.Errorf("batches of %d: %v (-want +got):\n%s", batch, err, d)
		}
	}
}
