package deliver

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/testkit/otlptest"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/spool"
)

func TestManyDeliverersSendEachSpanOnce(t *testing.T) {
	for _, wait := range []bool{false, true} {
		t.Run(fmt.Sprintf("wait %t", wait), func(t *testing.T) {
			b := newBench(t)
			var keys []spool.Key
			for i := range 6 {
				keys = append(keys, b.append(recorded(t, "classic-session", fmt.Sprintf("179517595734%d", i))...))
			}
			b.clock.Advance(time.Minute)
			x, y, s := &memory{}, &memory{}, otlptest.New(t)
			var wg sync.WaitGroup
			for range 8 {
				d := b.deliverer(
					Destination{Name: "store", Client: x}, Destination{Name: "file", Client: y},
					otlpDestination(t, "otlp", OTLP{Endpoint: s.URL()}),
				)
				wg.Go(func() {
					if _, err := d.Run(context.Background(), Pass{Wait: wait}); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			var want []otlptest.ID
			for _, k := range keys {
				want = append(want, b.view(k, b.deliverer().Map).ended()...)
			}
			sortIDs(want)
			wantIDs(t, "store", want, x.ids())
			wantIDs(t, "file", want, y.ids())
			wantIDs(t, "otlp", want, received(s))
			if n := x.doubles() + y.doubles(); n != 0 {
				t.Errorf("%d spans were sent again", n)
			}
			for _, sp := range s.Spans() {
				if sp.Count != 1 {
					t.Errorf("span %v came %d times", sp.ID, sp.Count)
				}
			}
		})
	}
}

// TestLockHolderReadsLaterEvents runs the flush of a later event while another holds
// the lock, at every moment at which that can be.
func TestLockHolderReadsLaterEvents(t *testing.T) {
	const id = "1795175957341"
	for _, c := range []struct {
		name string
		// hold runs the holder's pass and calls meanwhile in its middle.
		hold func(b *bench, d *Deliverer, m *memory, meanwhile func())
		// stored is how much of the session is there at first.
		stored int
	}{
		{
			name: "while it sends", stored: 21,
			hold: func(b *bench, d *Deliverer, m *memory, meanwhile func()) {
				m.before = once(meanwhile)
				b.run(d, Pass{})
			},
		},
		{
			name: "while it has nothing to send", stored: 3,
			hold: func(b *bench, d *Deliverer, _ *memory, meanwhile func()) {
				decode := d.Sources["cline"].Decode
				var did sync.Once
				d.Sources["cline"] = Source{Decode: hooked(decode, func() { did.Do(meanwhile) })}
				b.run(d, Pass{})
			},
		},
		{
			name: "while it reads a run that settles after that", stored: 3,
			hold: func(b *bench, d *Deliverer, _ *memory, meanwhile func()) {
				decode := d.Sources["cline"].Decode
				var did sync.Once
				d.Sources["cline"] = Source{Decode: hooked(decode, func() {
					did.Do(func() {
						b.clock.Advance(-time.Minute)
						meanwhile()
						b.clock.Advance(-time.Minute)
					})
				})}
				b.run(d, Pass{})
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, m := newBench(t), &memory{}
			recs := recorded(t, "classic-session", id)
			k := b.append(recs[:c.stored]...)
			b.clock.Advance(time.Minute)
			d := b.deliverer(Destination{Name: "otlp", Client: m})
			told := false
			c.hold(b, d, m, func() {
				told = true
				b.append(recs[c.stored:]...)
				b.clock.Advance(time.Minute)
				// The flush that the last event starts finds the lock taken.
				rs, err := b.deliverer(Destination{Name: "otlp", Client: m}).
					Run(context.Background(), Pass{Sessions: []spool.Key{k}})
				if err != nil || rs[0].Runs != 0 {
					t.Errorf("the second flush: %s, %v; want it to leave", mustJSON(rs), err)
				}
			})
			if !told {
				t.Fatal("the holder never came to the place")
			}
			wantIDs(t, "otlp", b.view(k, d.Map).ended(), m.ids())
		})
	}
}

func once(f func()) func(context.Context, []*tracepb.ResourceSpans) error {
	var did sync.Once
	return func(context.Context, []*tracepb.ResourceSpans) error { did.Do(f); return nil }
}

func TestHangingDestinationDelaysNoOther(t *testing.T) {
	b := newBench(t)
	recs := recorded(t, "classic-session", "")
	k := b.append(recs[:21]...)
	b.clock.Advance(time.Minute)

	hangs, release := make(chan struct{}), make(chan struct{})
	var calls atomic.Int32
	slow := &memory{before: func(ctx context.Context, _ []*tracepb.ResourceSpans) error {
		if calls.Add(1) == 1 {
			close(hangs)
			<-release
		}
		return nil
	}}
	quick := &memory{}
	both := func() *Deliverer {
		return b.deliverer(Destination{Name: "otlp", Client: slow}, Destination{Name: "store", Client: quick})
	}
	first, through := make(chan error, 1), make(chan struct{}, 2)
	go func() {
		d := both()
		d.Progress = func() { through <- struct{}{} }
		_, err := d.Run(context.Background(), Pass{})
		first <- err
	}()
	<-hangs
	<-through // Only the quick one can be.

	// The next turn of the same session ends while the destination hangs.
	b.append(recs[21:]...)
	b.clock.Advance(time.Minute)
	r := b.run(both(), Pass{Sessions: []spool.Key{k}})
	wantIDs(t, "store", b.view(k, both().Map).ended(), quick.ids())
	if r["otlp"].Runs != 0 || len(slow.ids()) != 0 {
		t.Errorf("the hanging destination: %s, want it left to the first pass", mustJSON(r["otlp"]))
	}

	close(release)
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	wantIDs(t, "otlp", b.view(k, both().Map).ended(), slow.ids())
}

func TestSecondDeliveryStoresNoDuplicates(t *testing.T) {
	b, s := newBench(t), otlptest.New(t)
	var keys []spool.Key
	for _, folder := range []string{"classic-session", "next-session", "sdk-session", "e2e-cli2/ok", "e2e-cli2/precompact", "e2e-cli3/tools", "e2e-cli3/subagent", "e2e-cli3/yolo"} {
		keys = append(keys, b.append(recorded(t, folder, "")...))
	}
	b.clock.Advance(time.Minute)
	st, err := store.Open(t.Context(), b.dir+"-traces.db")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	d := b.deliverer(
		Destination{Name: "store", Client: st, Batch: 3},
		otlpDestination(t, "otlp", OTLP{Endpoint: s.URL()}),
	)
	b.run(d, Pass{})
	once, err := st.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// The notes of all answers are lost, as with a spool put back from a backup.
	for _, k := range keys {
		for _, dst := range d.Destinations {
			if err := (saved{path: b.path(k, stateFile(dst.Name))}).restore(); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.clock.Advance(time.Hour)
	b.run(d, Pass{})
	twice, err := st.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var want []otlptest.ID
	for _, k := range keys {
		want = append(want, b.view(k, d.Map).ended()...)
	}
	sortIDs(want)
	wantIDs(t, "otlp", want, received(s))
	if once.Spans != int64(len(want)) || twice.Spans != once.Spans || twice.Traces != once.Traces {
		t.Errorf("store: %d spans of %d traces, then %d of %d; want %d both times",
			once.Spans, once.Traces, twice.Spans, twice.Traces, len(want))
	}
	for _, sp := range s.Spans() {
		if sp.Count != 2 || sp.Changed {
			t.Errorf("span %v %q came %d times, changed %t; want twice the same", sp.ID, sp.Name, sp.Count, sp.Changed)
		}
	}
}
