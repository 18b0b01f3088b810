package infiniumexporter

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hookspan/hookspan/internal/otlp"
)

// TestEveryAcknowledgedSpanWasAccepted drives the gatherer with random requests,
// repetitions, failures and delays, and checks the promise: a push that returns
// without an error has each of its spans in an accepted run, and nothing is
// held in the end.
func TestEveryAcknowledgedSpanWasAccepted(t *testing.T) {
	for seed := range uint64(200) {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			var mu sync.Mutex
			draw := func(n int) int {
				mu.Lock()
				defer mu.Unlock()
				return rnd.IntN(n)
			}
			accepted := make(map[string]int)
			key := func(tr, sp any) string { return fmt.Sprint(tr, " ", sp) }
			g := newGatherer(2*time.Second, 20*time.Second)
			g.keep = func(error) time.Duration { return time.Duration(draw(30)) * time.Second }
			g.deliver = func(_ context.Context, run *run) error {
				time.Sleep(time.Duration(draw(4000)) * time.Millisecond)
				if draw(3) == 0 {
					return &refusal{err: errors.New("no"), everywhere: draw(2) == 0}
				}
				mu.Lock()
				defer mu.Unlock()
				for _, s := range run.Spans() {
					accepted[key(otlp.TraceID(s), otlp.SpanID(s))]++
				}
				return nil
			}
			var wg sync.WaitGroup
			for range 30 {
				td := newRequest()
				for range 1 + draw(6) {
					tr := uint64(draw(4)) + 1
					if sp := uint64(draw(12)) + 1; sp <= 2 {
						td.root(tr, sp)
					} else {
						td.tool(tr, sp, 1+sp%2)
					}
				}
				wg.Go(func() {
					time.Sleep(time.Duration(draw(60_000)) * time.Millisecond)
					again := td.Traces
					for {
						out := g.push(context.Background(), parts(again))
						if len(out.items) == 0 {
							break
						}
						again = rest(out.items)
						time.Sleep(time.Duration(draw(20_000)) * time.Millisecond)
					}
					mu.Lock()
					defer mu.Unlock()
					for _, s := range td.spans.All() {
						if accepted[key(s.TraceID(), s.SpanID())] == 0 {
							t.Errorf("seed %d: span %s of trace %s was acknowledged and never accepted", seed, s.SpanID(), s.TraceID())
						}
					}
				})
			}
			wg.Wait()
			time.Sleep(time.Hour)
			synctest.Wait()
			if n := g.waiting(); n != 0 {
				t.Errorf("seed %d: %d traces are still held", seed, n)
			}
			for k, n := range accepted {
				if n > 1 {
					t.Errorf("seed %d: span %s was accepted %d times", seed, k, n)
				}
			}
			g.close()
		})
	}
}
