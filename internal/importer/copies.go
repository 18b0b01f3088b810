package importer

import (
	"context"
	"slices"
	"sync"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap/step"
)

// requestKeys are the requests that the local store had, or had removed, when they were
// first asked for. A session that was forked or resumed has copies of another one's rows,
// which count there; once the files of that session are gone, only these show it.
type requestKeys struct{ stored, removed store.RequestKeys }

// request is one in a session's files.
type request struct {
	id  string
	end time.Time
}

// keys returns a function that asks the store once.
func (im *Importer) keys(ctx context.Context) func() (*requestKeys, error) {
	return sync.OnceValues(func() (k *requestKeys, err error) {
		k = new(requestKeys)
		if im.Known == nil {
			return k, nil
		}
		k.stored, k.removed, err = im.Known.Requests(ctx)
		if im.Again {
			k.removed = nil
		}
		return k, err
	})
}

// judge returns the verdict on a run that no root shows to be known, by its requests. copies
// are the known ones of a run of which the rest is new. Requests without an id decide
// nothing.
func (k *requestKeys) judge(run func() *tracepb.ResourceSpans) (v verdict, copies []request) {
	if len(k.stored)+len(k.removed) == 0 {
		return isNew, nil
	}
	rest, v := false, isRemoved
	for _, s := range run().GetScopeSpans()[0].GetSpans() {
		key, ok := store.RequestKey(s)
		switch {
		case !ok:
			continue
		case k.stored.Has(key):
			v = isStored
		case !k.removed.Has(key):
			rest = true
			continue
		}
		copies = append(copies, request{step.Of(s).ResponseID(), otlp.End(s)})
	}
	if rest || len(copies) == 0 {
		return isNew, copies
	}
	return v, nil
}

// without returns a transcript without some requests and the calls that they asked for.
func without(tr *hook.Transcript, copies []request) *hook.Transcript {
	type callKey struct{ agent, id string }
	dropped := make(map[request]bool)
	for _, r := range copies {
		dropped[r] = true
	}
	copied := func(c *hook.Request) bool { return dropped[request{c.ID, c.End.UTC()}] }
	asked := make(map[callKey][]*hook.Request)
	for i := range tr.Requests {
		c := &tr.Requests[i]
		for _, id := range c.ToolCallIDs {
			asked[callKey{c.Agent, id}] = append(asked[callKey{c.Agent, id}], c)
		}
	}
	out := *tr
	out.ToolResults = slices.DeleteFunc(slices.Clone(tr.ToolResults), func(r hook.ToolResult) bool {
		by := asked[callKey{r.Agent, r.ID}]
		for _, c := range slices.Backward(by) {
			if r.At.IsZero() || !c.End.After(r.At) {
				return copied(c)
			}
		}
		return false
	})
	out.Requests = slices.DeleteFunc(slices.Clone(tr.Requests), func(c hook.Request) bool { return copied(&c) })
	return &out
}
