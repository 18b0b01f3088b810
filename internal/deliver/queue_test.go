package deliver

import (
	"context"
	"fmt"
	"iter"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
)

func TestShortRunsAreSentTogether(t *testing.T) {
	runsOf := func(sizes ...int) (runs []prepared, mapped map[int]int) {
		mapped = make(map[int]int)
		for i, n := range sizes {
			runs = append(runs, prepared{spans: func() *tracepb.ResourceSpans {
				mapped[i]++
				out := make([]*tracepb.Span, n)
				for k := range out {
					out[k] = &tracepb.Span{Name: fmt.Sprintf("%d/%d", i, k)}
				}
				return message(out...)[0]
			}})
		}
		return runs, mapped
	}
	for _, c := range []struct {
		name  string
		sizes []int
		most  int
		// alone are the places at which the answer asks for each by itself.
		part map[int]bool
		want []string
	}{
		{"none", nil, 10, nil, nil},
		{"whole runs where no number is set", []int{2, 3, 1}, 0, nil, []string{"0+1:2", "1+1:3", "2+1:1"}},
		{"up to the number", []int{4, 4, 2, 5, 6, 1}, 10, nil, []string{"0+3:10", "3+1:5", "4+2:7"}},
		{"one that has more", []int{4, 25, 4}, 10, nil, []string{"0+1:4", "1+1:25", "2+1:4"}},
		{"parted", []int{1, 1, 1, 1, 1, 1}, 3, map[int]bool{0: true}, []string{"0+3:3", "0+1:1", "1+1:1", "2+1:1", "3+3:3"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			runs, mapped := runsOf(c.sizes...)
			q := queue{runs: runs, most: c.most}
			var got []string
			parted := false
			for q.next() {
				got = append(got, fmt.Sprintf("%d+%d:%d", q.at, q.n, spansIn(q.batches)))
				if c.part[q.at] && q.n > 1 {
					parted = true
					q.separate()
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for i, n := range mapped {
				if n != 1 && !parted {
					t.Errorf("run %d was mapped %d times", i, n)
				}
			}
		})
	}
}

func spansIn(batches iter.Seq[[]*tracepb.ResourceSpans]) (n int) {
	for batch := range batches {
		n += otlp.Count(batch)
	}
	return n
}

// TestOneOfSeveralRunsIsRefused has a destination that rejects one run,
// or fails at it, wherever it stands among short runs.
func TestOneOfSeveralRunsIsRefused(t *testing.T) {
	for _, answer := range []*Error{{Err: errTest, Permanent: true}, {Err: errTest, RunOnly: true}} {
		for bad := range 5 {
			b, m := newBench(t), &memory{}
			recs := days()[:6*4]
			b.keep(recs)
			b.clock.Advance(time.Minute)
			d := b.claudeDeliverer(nil, Destination{Name: "otlp", Client: m, Batch: 100})
			d.Map.IdleTimeout = 48 * time.Hour
			var refused string
			m.before = func(_ context.Context, spans []*tracepb.ResourceSpans) error {
				traces := make(map[string]bool)
				for s := range otlp.Spans(spans) {
					traces[otlp.TraceID(s)] = true
				}
				if refused == "" && len(traces) > bad {
					n := 0
					for s := range otlp.Spans(spans) {
						if otlp.ParentID(s) == "" {
							if n == bad {
								refused = otlp.TraceID(s)
							}
							n++
						}
					}
				}
				if traces[refused] {
					return answer
				}
				return nil
			}
			r := b.run(d, Pass{})["otlp"]
			for id := range m.spans {
				if id.Trace == refused {
					t.Errorf("a span of the refused run was taken")
				}
			}
			if answer.Permanent && (r.Parked != 1 || r.Waiting != 0 || m.doubles() != 0) {
				t.Errorf("run %d refused: %s, want it parked alone", bad, mustJSON(r))
			}
			if !answer.Permanent && (r.Parked != 0 || r.Runs != 4 || r.Waiting != 1) {
				t.Errorf("run %d failed: %s, want it alone waiting", bad, mustJSON(r))
			}
		}
	}
}

// TestLongRunIsMappedInSmallBatches checks how many spans of a long run are in memory
// at once.
func TestLongRunIsMappedInSmallBatches(t *testing.T) {
	for most, want := range map[int]int{0: math.MaxInt, 512: 512, 4096: longBatch} {
		var got int
		q := queue{most: most, runs: []prepared{{batches: func(size int) iter.Seq[[]*tracepb.ResourceSpans] {
			got = size
			return func(func([]*tracepb.ResourceSpans) bool) {}
		}}}}
		if !q.next() || got != want {
			t.Errorf("a destination that takes %d spans: batches of %d, want %d", most, got, want)
		}
	}
}
