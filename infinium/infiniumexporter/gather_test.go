package infiniumexporter

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// desk is a deliver function that records what it gets.
type desk struct {
	mu    sync.Mutex
	began time.Time
	runs  []string
	fail  func(n int, run string) error
}

func (d *desk) deliver(_ context.Context, run *run) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var ids []string
	for _, s := range run.Spans() {
		ids = append(ids, fmt.Sprint(last(s.SpanId)))
	}
	slices.Sort(ids)
	root := "late"
	if s := run.Root(); s != nil {
		root = fmt.Sprintf("root %d", last(s.SpanId))
	}
	trace, _ := strconv.ParseInt(run.TraceID[30:], 16, 0)
	text := fmt.Sprintf("trace %d %s: %s", trace, root, strings.Join(ids, " "))
	d.runs = append(d.runs, fmt.Sprintf("%s %s", time.Since(d.began), text))
	if d.fail != nil {
		return d.fail(len(d.runs), text)
	}
	return nil
}

// last is the last byte of an id, 0 if it has none.
func last(id []byte) byte { return append([]byte{0}, id...)[len(id)] }

// send is one push at a time after the start of a test.
type send struct {
	at time.Duration
	td *request
}

func newDesk(wait, limit time.Duration) (*gatherer, *desk) {
	g := newGatherer(wait, limit)
	d := &desk{began: time.Now()}
	g.deliver = d.deliver
	return g, d
}

func TestSpansOfTraceBecomeOneRequest(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		name  string
		sends []send
		want  []string
	}{
		{"all at once", []send{{0, newRequest().tool(1, 2, 1).root(1, 1)}}, []string{"2s trace 1 root 1: 1 2"}},
		{"root last", []send{
			{0, newRequest().tool(1, 2, 1)}, {3 * s, newRequest().tool(1, 3, 1)}, {6 * s, newRequest().root(1, 1)},
		}, []string{"8s trace 1 root 1: 1 2 3"}},
		{"root first", []send{
			{0, newRequest().root(1, 1)}, {1 * s, newRequest().tool(1, 2, 1)}, {2 * s, newRequest().tool(1, 3, 1)},
		}, []string{"4s trace 1 root 1: 1 2 3"}},
		{"root never", []send{
			{0, newRequest().tool(1, 2, 1)}, {29 * s, newRequest().tool(1, 3, 1)},
		}, []string{"30s trace 1 late: 2 3"}},
		{"root too late", []send{
			{0, newRequest().tool(1, 2, 1)}, {31 * s, newRequest().root(1, 1)},
		}, []string{"30s trace 1 late: 2", "33s trace 1 root 1: 1"}},
		{
			"a trace is sent although more spans keep arriving", append([]send{{0, newRequest().root(1, 1)}}, drip(40)...),
			[]string{
				"30s trace 1 root 1: 1 10 11 12 13 14 15 16 17 18 19 2 20 21 22 23 24 25 26 27 28 29 3 30 31 4 5 6 7 8 9",
				"1m0.999s trace 1 late: 32 33 34 35 36 37 38 39 40 41",
			},
		},
		{"two traces in one request", []send{
			{0, newRequest().tool(1, 2, 1).root(2, 1).tool(2, 2, 1)}, {s, newRequest().root(1, 1)},
		}, []string{"2s trace 2 root 1: 1 2", "3s trace 1 root 1: 1 2"}},
		{"two runs in one trace", []send{
			{0, newRequest().root(1, 1).tool(1, 2, 1)}, {s, newRequest().root(1, 3).tool(1, 4, 3)},
		}, []string{"3s trace 1 root 1: 1 2", "3s trace 1 root 3: 3 4"}},
		{"a later run of a trace", []send{
			{0, newRequest().root(1, 1)}, {60 * s, newRequest().tool(1, 4, 3)}, {61 * s, newRequest().root(1, 3)},
		}, []string{"2s trace 1 root 1: 1", "1m3s trace 1 root 3: 3 4"}},
		{"a repetition while it waits", []send{
			{0, newRequest().root(1, 1).tool(1, 2, 1)}, {s, newRequest().root(1, 1).tool(1, 2, 1)},
		}, []string{"2s trace 1 root 1: 1 2"}},
		{"a repetition after it was sent", []send{
			{0, newRequest().root(1, 1).tool(1, 2, 1)}, {10 * s, newRequest().root(1, 1).tool(1, 2, 1)},
		}, []string{"2s trace 1 root 1: 1 2"}},
		{"a repetition with a late span", []send{
			{0, newRequest().root(1, 1).tool(1, 2, 1)}, {10 * s, newRequest().tool(1, 3, 1).tool(1, 2, 1)},
		}, []string{"2s trace 1 root 1: 1 2", "40s trace 1 late: 3"}},
		{"a changed span, then the first version again", []send{
			{0, newRequest().root(1, 1)}, {s, changed(newRequest().root(1, 1))}, {10 * s, newRequest().root(1, 1)},
		}, []string{"3s trace 1 root 1: 1"}},
		{"a changed span after it was sent", []send{
			{0, newRequest().root(1, 1)}, {10 * s, changed(newRequest().root(1, 1))},
		}, []string{"2s trace 1 root 1: 1", "12s trace 1 root 1: 1"}},
		{"spans without ids", []send{
			{0, newRequest().tool(1, 0, 1).tool(1, 0, 1).root(1, 1)},
		}, []string{"2s trace 1 root 1: 0 1"}},
		{"an empty request", []send{{0, newRequest()}}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, d := newDesk(2*s, 30*s)
				var wg sync.WaitGroup
				for _, p := range tt.sends {
					time.Sleep(time.Until(d.began.Add(p.at)))
					wg.Go(func() {
						if out := g.push(context.Background(), parts(p.td.Traces)); len(out.errs) > 0 {
							t.Errorf("push at %s: %v", p.at, out.errs)
						}
					})
				}
				wg.Wait()
				slices.Sort(tt.want)
				slices.Sort(d.runs)
				if diff := cmp.Diff(tt.want, d.runs); diff != "" {
					t.Errorf("sent (-want +got):\n%s", diff)
				}
				if n := g.waiting(); n != 0 {
					t.Errorf("%d traces are still held", n)
				}
				g.close()
			})
		})
	}
}

// changed adds an attribute to the request's first span.
func changed(r *request) *request {
	r.spans.At(0).Attributes().PutStr("output.value", "done")
	return r
}

// drip is a span each second.
func drip(n int) []send {
	var out []send
	for i := range n {
		out = append(out, send{time.Duration(i+1)*time.Second - time.Millisecond, newRequest().tool(1, uint64(i)+2, 1)})
	}
	return out
}

func TestConcurrentPushesMakeOneTraceEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const traces, spans = 50, 20
		g, d := newDesk(time.Second, time.Minute)
		var wg sync.WaitGroup
		for tr := range uint64(traces) {
			for sp := range uint64(spans) {
				wg.Go(func() {
					td := newRequest()
					if sp == tr%spans {
						td.root(tr, 100)
					} else {
						td.tool(tr, sp+1, 100)
					}
					if out := g.push(context.Background(), parts(td.Traces)); len(out.errs) > 0 {
						t.Error(out.errs)
					}
				})
			}
		}
		wg.Wait()
		if len(d.runs) != traces {
			t.Errorf("%d pushes made %d traces, want %d", traces*spans, len(d.runs), traces)
		}
		for _, r := range d.runs {
			if n := len(strings.Fields(r[strings.LastIndex(r, ":"):])) - 1; n != spans {
				t.Errorf("%s: %d spans, want %d", r, n, spans)
			}
		}
		g.close()
	})
}

// TestFailedTraceIsSentAsOneLater pushes the parts of a trace again at different
// times, as the retry sender does.
func TestFailedTraceIsSentAsOneLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, d := newDesk(time.Second, time.Minute)
		g.keep = func(error) time.Duration { return time.Minute }
		d.fail = func(n int, _ string) error {
			if n <= 2 {
				return errors.New("no")
			}
			return nil
		}
		var wg sync.WaitGroup
		for i, td := range []*request{newRequest().tool(1, 2, 1), newRequest().root(1, 1), newRequest().tool(1, 3, 1)} {
			wg.Go(func() {
				again := td.Traces
				for {
					out := g.push(context.Background(), parts(again))
					if len(out.errs) == 0 {
						return
					}
					again = rest(out.items)
					time.Sleep(time.Duration(i+1) * 7 * time.Second)
				}
			})
		}
		wg.Wait()
		want := []string{"1s trace 1 root 1: 1 2 3", "8s trace 1 root 1: 1 2 3", "15s trace 1 root 1: 1 2 3"}
		if diff := cmp.Diff(want, d.runs); diff != "" {
			t.Errorf("sent (-want +got):\n%s", diff)
		}
		g.close()
	})
}

func TestSpansNotRetriedAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, d := newDesk(time.Second, time.Minute)
		g.keep = func(error) time.Duration { return time.Hour }
		d.fail = func(int, string) error { return errors.New("no") }
		if out := g.push(context.Background(), parts(newRequest().root(1, 1).Traces)); len(out.items) != 1 {
			t.Errorf("%d spans refused, want 1", len(out.items))
		}
		if n := g.waiting(); n != 1 {
			t.Errorf("%d traces remembered, want 1", n)
		}
		time.Sleep(time.Hour + time.Second)
		synctest.Wait()
		if n := g.waiting(); n != 0 {
			t.Errorf("%d traces remembered after their time, want 0", n)
		}
		if len(d.runs) != 1 {
			t.Errorf("sent %v, though no push waited", d.runs)
		}
		g.close()
	})
}

// TestOnlyRefusedRunIsRetried checks that accepted spans are not sent twice, and
// that no other spans are lost.
func TestOnlyRefusedRunIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, d := newDesk(time.Second, time.Minute)
		g.keep = func(error) time.Duration { return time.Minute }
		d.fail = func(n int, run string) error {
			if n <= 2 && strings.Contains(run, "root 3") {
				return errors.New("no")
			}
			return nil
		}
		out := g.push(context.Background(), parts(newRequest().root(1, 1).tool(1, 2, 1).root(1, 3).tool(1, 4, 3).Traces))
		if n := len(out.items); n != 2 {
			t.Fatalf("%d spans refused, want the 2 of the second run", n)
		}
		if out = g.push(context.Background(), parts(rest(out.items))); len(out.items) != 0 {
			t.Errorf("refused again: %v", out.errs)
		}
		want := []string{"1s trace 1 root 1: 1 2", "1s trace 1 root 3: 3 4", "1s trace 1 root 3: 3 4"}
		if diff := cmp.Diff(want, d.runs); diff != "" {
			t.Errorf("sent (-want +got):\n%s", diff)
		}
		g.close()
	})
}

func TestSpansArrivingDuringRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, d := newDesk(time.Second, time.Minute)
		release := make(chan struct{})
		g.deliver = func(ctx context.Context, run *run) error {
			if run.Root() != nil {
				<-release
			}
			return d.deliver(ctx, run)
		}
		var wg sync.WaitGroup
		push := func(td *request) { wg.Go(func() { g.push(context.Background(), parts(td.Traces)) }) }
		push(newRequest().root(1, 1).tool(1, 2, 1))
		time.Sleep(2 * time.Second)
		push(newRequest().tool(1, 2, 1)) // a repetition waits for the same answer
		push(newRequest().tool(1, 3, 1)) // a new one waits for its own
		synctest.Wait()
		close(release)
		wg.Wait()
		want := []string{"2s trace 1 root 1: 1 2", "1m2s trace 1 late: 3"}
		if diff := cmp.Diff(want, d.runs); diff != "" {
			t.Errorf("sent (-want +got):\n%s", diff)
		}
		g.close()
	})
}

// TestSpansArrivingDuringFailureAreSentWithRetry: both parts wait, so both are sent.
func TestSpansArrivingDuringFailureAreSentWithRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, d := newDesk(time.Second, time.Minute)
		g.keep = func(error) time.Duration { return time.Minute }
		release := make(chan struct{})
		d.fail = func(n int, _ string) error {
			if n == 1 {
				return errors.New("no")
			}
			return nil
		}
		g.deliver = func(ctx context.Context, run *run) error {
			<-release
			return d.deliver(ctx, run)
		}
		var first, second refused
		var wg sync.WaitGroup
		wg.Go(func() { first = g.push(context.Background(), parts(newRequest().root(1, 1).tool(1, 2, 1).Traces)) })
		time.Sleep(2 * time.Second)
		wg.Go(func() { second = g.push(context.Background(), parts(newRequest().tool(1, 3, 1).Traces)) })
		synctest.Wait()
		close(release)
		wg.Wait()
		if len(first.items) != 2 || len(second.items) != 0 {
			t.Errorf("%d and %d spans refused, want the 2 of the first push", len(first.items), len(second.items))
		}
		if out := g.push(context.Background(), parts(rest(first.items))); len(out.items) != 0 {
			t.Errorf("refused again: %v", out.errs)
		}
		want := []string{"2s trace 1 root 1: 1 2", "3s trace 1 root 1: 1 2 3"}
		if diff := cmp.Diff(want, d.runs); diff != "" {
			t.Errorf("sent (-want +got):\n%s", diff)
		}
		g.close()
	})
}

func TestStopSendsWaitingTraces(t *testing.T) {
	for _, durable := range []bool{false, true} {
		t.Run(fmt.Sprintf("durable %v", durable), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, d := newDesk(time.Minute, time.Hour)
				g.durable = durable
				var rooted, rootless refused
				var wg sync.WaitGroup
				wg.Go(func() { rooted = g.push(context.Background(), parts(newRequest().root(1, 1).Traces)) })
				wg.Go(func() { rootless = g.push(context.Background(), parts(newRequest().tool(2, 2, 1).Traces)) })
				synctest.Wait()
				g.stop()
				wg.Wait()
				if len(rooted.errs) > 0 {
					t.Errorf("a complete trace was refused: %v", rooted.errs)
				}
				want := []string{"0s trace 1 root 1: 1", "0s trace 2 late: 2"}
				if durable {
					// The queue on disk keeps it for the root to come.
					want = want[:1]
					if len(rootless.errs) != 1 || !errors.Is(rootless.errs[0], errStopping) {
						t.Errorf("a trace without root: %v, want %v", rootless.errs, errStopping)
					}
				}
				slices.Sort(d.runs)
				if diff := cmp.Diff(want, d.runs); diff != "" {
					t.Errorf("sent (-want +got):\n%s", diff)
				}
				// The rest of a queue in memory is sent without waiting.
				g.push(context.Background(), parts(newRequest().root(3, 1).Traces))
				if n := len(d.runs); n != len(want)+1 || g.waiting() != 0 {
					t.Errorf("%v sent after stop, %d traces left", d.runs, g.waiting())
				}
				g.close()
			})
		})
	}
}

// TestReplacedTimerSendsNothing: a timer that ended while it was replaced does not
// send the round before its new end.
func TestReplacedTimerSendsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, d := newDesk(2*time.Second, time.Minute)
		go g.push(context.Background(), parts(newRequest().root(1, 1).Traces))
		time.Sleep(time.Second)
		synctest.Wait()
		g.mu.Lock()
		groups := slices.Collect(maps.Values(g.groups))
		g.mu.Unlock()
		for _, grp := range groups {
			g.fire(grp)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if diff := cmp.Diff([]string{"2s trace 1 root 1: 1"}, d.runs); diff != "" {
			t.Errorf("sent (-want +got):\n%s", diff)
		}
		g.close()
	})
}

func TestPushEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, d := newDesk(time.Second, time.Minute)
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		out := g.push(ctx, parts(newRequest().tool(1, 2, 1).Traces))
		if len(out.errs) != 1 || !errors.Is(out.errs[0], context.DeadlineExceeded) {
			t.Errorf("%v, want %v", out.errs, context.DeadlineExceeded)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(d.runs) != 1 {
			t.Errorf("sent %v, want the pushed spans", d.runs)
		}
		g.close()
	})
}

func TestMemoryOfSentSpansIsBounded(t *testing.T) {
	const most = 100
	m := newMemory(most)
	for i := range uint64(400) {
		m.add(idOf(i/4), i)
	}
	if held := len(m.recent) + len(m.old); held > most || held < most/2 {
		t.Errorf("%d spans held, want %d to %d", held, most/2, most)
	}
	if !m.has(idOf(99), 399) || m.has(idOf(0), 0) {
		t.Error("the last span is forgotten, or the first is not")
	}
}

// TestChangedSpanIsNoRepetition: a span that changed is sent again.
func TestChangedSpanIsNoRepetition(t *testing.T) {
	a, b := newRequest().root(1, 1), changed(newRequest().root(1, 1))
	hash := func(td ptrace.Traces) uint64 { return parts(td)[0].items[0].hash }
	if hash(a.Traces) != hash(newRequest().root(1, 1).Traces) {
		t.Error("equal spans differ")
	}
	if hash(a.Traces) == hash(b.Traces) {
		t.Error("different spans are equal")
	}
}
