package infiniumexporter

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/extension/xextension/storage"
)

// disk is a storage extension that survives the components that use it.
type disk struct {
	component.StartFunc
	component.ShutdownFunc
	mu    sync.Mutex
	items map[string][]byte
}

var diskID = component.MustNewID("disk")

func newDisk() *disk { return &disk{items: make(map[string][]byte)} }

func (d *disk) extensions() map[component.ID]component.Component {
	return map[component.ID]component.Component{diskID: d}
}

// crash returns the disk as it is found after a power loss.
func (d *disk) crash() *disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	return &disk{items: maps.Clone(d.items)}
}

func (d *disk) GetClient(context.Context, component.Kind, component.ID, string) (storage.Client, error) {
	return d.client(), nil
}

func (d *disk) client() storage.Client { return client{d} }

type client struct{ d *disk }

func (c client) Get(ctx context.Context, key string) ([]byte, error) {
	op := storage.GetOperation(key)
	err := c.Batch(ctx, op)
	return op.Value, err
}

func (c client) Set(ctx context.Context, key string, v []byte) error {
	return c.Batch(ctx, storage.SetOperation(key, v))
}

func (c client) Delete(ctx context.Context, key string) error {
	return c.Batch(ctx, storage.DeleteOperation(key))
}

func (c client) Close(context.Context) error { return nil }

func (c client) Batch(_ context.Context, ops ...*storage.Operation) error {
	c.d.mu.Lock()
	defer c.d.mu.Unlock()
	for _, op := range ops {
		switch op.Type {
		case storage.Get:
			op.Value = c.d.items[op.Key]
		case storage.Set:
			c.d.items[op.Key] = op.Value
		case storage.Delete:
			delete(c.d.items, op.Key)
		}
	}
	return nil
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestLongFailureUsesNoMemory offers far more than the queue accepts. The rest must
// be refused, so that its sender keeps it.
func TestLongFailureUsesNoMemory(t *testing.T) {
	const requests, spans, size, taken = 1000, 100, 50, 20
	for _, durable := range []bool{false, true} {
		name := "queue in memory"
		if durable {
			name = "queue on disk"
		}
		t.Run(name, func(t *testing.T) {
			s := &service{answer: func(int, map[string]any) *http.Response { return says(500, "") }}
			c := testConfig()
			c.Wait = 0
			c.Retry.InitialInterval, c.Retry.MaxInterval = time.Hour, time.Hour
			q := c.Queue.Get()
			q.QueueSize, q.NumConsumers = size, taken
			d := newDisk()
			if durable {
				q.StorageID = &diskID
			}
			w := start(t, c, s, d.extensions())
			before := heap()
			full := 0
			for i := range uint64(requests) {
				td := newRequest().root(i, 1)
				for n := range uint64(spans - 1) {
					td.tool(i, n+2, 1)
					td.spans.At(int(n)+1).Attributes().PutStr("gen_ai.tool.call.arguments", strings.Repeat("x", 200))
				}
				err := w.ConsumeTraces(t.Context(), td.Traces)
				switch {
				case errors.Is(err, exporterhelper.ErrQueueIsFull):
					full++
				case err != nil:
					t.Fatal(err)
				}
			}
			grown := heap() - before
			t.Logf("%d spans offered, %d requests of %d refused: the heap grew by %.1f MB", requests*spans, full, requests, float64(grown)/1e6)
			if full < requests-size-taken || full == 0 {
				t.Errorf("%d requests refused, want at least %d", full, requests-size-taken)
			}
			if grown > 40e6 {
				t.Errorf("the heap grew by %d bytes, want at most 40 MB", grown)
			}
			runtime.KeepAlive(d)
			w.stop(t)
		})
	}
}

// TestMemoryOfSentSpansIsSmall fills the memory of sent spans in different ways.
func TestMemoryOfSentSpansIsSmall(t *testing.T) {
	for _, perTrace := range []uint64{1, 10, 500} {
		before := heap()
		m := newMemory(rememberedSpans)
		for i := range uint64(rememberedSpans + 100_000) {
			m.add(idOf(i/perTrace), i)
		}
		grown := heap() - before
		t.Logf("%d spans a trace: %d in %.1f MB", perTrace, len(m.recent)+len(m.old), float64(grown)/1e6)
		if grown > 60e6 {
			t.Errorf("%d spans a trace: %d bytes, want at most 60 MB", perTrace, grown)
		}
		runtime.KeepAlive(m)
	}
}

// TestPowerLossLosesNothing copies the disk while requests are in work, and starts
// again with the copy.
func TestPowerLossLosesNothing(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer func(int, map[string]any) *http.Response
		after  time.Duration
	}{
		{"while a trace waits for its root", nil, time.Second},
		{"while the service hangs", func(int, map[string]any) *http.Response { return hangs() }, 10 * time.Second},
		{"while the service fails", func(int, map[string]any) *http.Response { return says(503, "") }, 5 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDisk()
				c := testConfig()
				c.Queue.Get().StorageID = &diskID
				w := start(t, c, &service{answer: tt.answer}, d.extensions())
				offer := func(w *world, td *request) {
					if err := w.ConsumeTraces(context.Background(), td.Traces); err != nil {
						t.Fatal(err)
					}
				}
				offer(w, newRequest().tool(1, 2, 1))
				if tt.answer != nil {
					offer(w, newRequest().root(1, 1))
				}
				time.Sleep(tt.after)
				later := d.crash()
				w.stop(t) // the last calls of the killed one have no effect on the copy

				s := &service{}
				w = start(t, c, s, later.extensions())
				if tt.answer == nil {
					offer(w, newRequest().root(1, 1))
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				if seen := s.traces(); len(seen) != 1 || steps(seen[0]) != 1 {
					t.Errorf("after the restart %d traces came, want one with one step: %v", len(seen), seen)
				}
				w.stop(t)
			})
		})
	}
}

// TestShutdownKeepsIncompleteTraces: a trace without its root stays in the queue on
// disk for the next start.
func TestShutdownKeepsIncompleteTraces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		c := testConfig()
		c.Queue.Get().StorageID = &diskID
		s := &service{}
		w := start(t, c, s, d.extensions())
		for _, td := range []*request{newRequest().tool(1, 2, 1), newRequest().root(2, 1)} {
			if err := w.ConsumeTraces(context.Background(), td.Traces); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		w.stop(t)
		if n := len(s.traces()); n != 1 {
			t.Fatalf("%d traces sent at the stop, want the complete one", n)
		}
		w = start(t, c, s, d.extensions())
		if err := w.ConsumeTraces(context.Background(), newRequest().root(1, 1).Traces); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if seen := s.traces(); len(seen) != 2 || steps(seen[1]) != 1 {
			t.Errorf("%d traces sent, want 2, the second with its step: %v", len(seen), seen)
		}
		w.stop(t)
	})
}
