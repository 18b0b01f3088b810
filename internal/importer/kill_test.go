package importer

import (
	"context"
	"errors"
	"slices"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/traces/store"
)

var errKilled = errors.New("killed")

// process lives for some steps: what it does to the world later has no effect.
type process struct {
	steps  int
	killed bool
}

func (p *process) step() error {
	if p.steps--; p.steps < 0 {
		p.killed = true
		return errKilled
	}
	return nil
}

// mortal is a client of a process.
type mortal struct {
	*process
	to deliver.Client
}

func (m mortal) UploadTraces(ctx context.Context, messages []*tracepb.ResourceSpans) error {
	if err := m.step(); err != nil {
		return err
	}
	return m.to.UploadTraces(ctx, messages)
}

// mortalStore is what a process knows.
type mortalStore struct {
	Known
	*process
}

func (m mortalStore) Settle(ctx context.Context, destination string, traces []string) error {
	if err := m.step(); err != nil {
		return err
	}
	return m.Known.Settle(ctx, destination, traces)
}

func (m mortalStore) NoteImports(ctx context.Context, imports []store.Import) error {
	if err := m.step(); err != nil {
		return err
	}
	return m.Known.NoteImports(ctx, imports)
}

// TestKilledImportLosesNothing kills an import after each of its steps. What is stored has
// been sent or is owed, and the next import completes it: only what was sent and not yet
// noted is sent again.
func TestKilledImportLosesNothing(t *testing.T) {
	sessions := []Session{of("s", DialectClaude, turns(3)), of("t", DialectClaude, turns(2))}
	for steps := 0; ; steps++ {
		w := newWorld(t)
		remotes := map[string]*remote{"otlp": {}, "infinium": {}}
		p := &process{steps: steps}
		begin := func() *Importer {
			im := w.importer(HostClaude, deliver.Destination{Name: "otlp", Client: remotes["otlp"]}, deliver.Destination{Name: "infinium", Client: remotes["infinium"]})
			for i := range im.Deliverer.Destinations {
				d := &im.Deliverer.Destinations[i]
				d.Client = mortal{p, d.Client}
			}
			im.Known = mortalStore{w.store, p}
			return im
		}
		_, _ = begin().Run(t.Context(), sessions)
		killed := p.killed
		owed, err := w.store.Owed(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		stored, err := w.store.Conversations(t.Context(), "s", "t")
		if err != nil {
			t.Fatal(err)
		}
		twice := map[string]map[string]bool{"otlp": {}, "infinium": {}}
		for name, r := range remotes {
			for _, root := range stored {
				sent := slices.Contains(r.traces(), root.Trace)
				waits := slices.ContainsFunc(owed, func(o store.Owed) bool { return o.Destination == name && o.Trace == root.Trace })
				if twice[name][root.Trace] = sent && waits; !sent && !waits {
					t.Errorf("after %d steps: trace %s is stored, and neither sent to %s nor owed", steps, root.Trace, name)
				}
			}
			for _, id := range r.traces() {
				if !slices.ContainsFunc(stored, func(root store.Root) bool { return root.Trace == id }) && steps > 0 {
					t.Errorf("after %d steps: %s has trace %s, which is not stored", steps, name, id)
				}
			}
		}
		p.steps, p.killed = 1000, false
		im := begin()
		im.Owed = func(ctx context.Context) ([]deliver.Result, error) {
			for i := range im.Deliverer.Destinations {
				d := &im.Deliverer.Destinations[i]
				list, err := w.store.Owed(ctx, d.Name)
				for _, o := range list {
					tr, traceErr := w.store.Trace(ctx, o.Trace)
					if err = errors.Join(err, traceErr); err == nil {
						err = errors.Join(d.Client.UploadTraces(ctx, tr.ResourceSpans), w.store.Settle(ctx, d.Name, []string{o.Trace}))
					}
				}
				if err != nil {
					return nil, err
				}
			}
			return nil, nil
		}
		w.run(im, sessions...)
		for name, r := range remotes {
			times := make(map[string]int)
			for _, id := range r.traces() {
				times[id]++
			}
			if len(times) != 5 || len(w.owed()) > 0 || len(r.spans) < 2*5 {
				t.Errorf("after %d steps and another import: %s has %d traces, owed are %v", steps, name, len(times), w.owed())
			}
			for id, n := range times {
				if n > 2 || n == 2 && !twice[name][id] {
					t.Errorf("after %d steps: %s has trace %s %d times", steps, name, id, n)
				}
			}
		}
		if !killed {
			if steps < 2*5+1 {
				t.Errorf("an import has %d steps", steps)
			}
			return
		}
	}
}
