package collector_test

import (
	"fmt"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/hookspan/hookspan/infinium"
	"github.com/hookspan/hookspan/infinium/connectors"
	"github.com/hookspan/hookspan/internal/testkit/infiniumtest"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

// infiniumOverlay adds a pipeline to Infinium's stand-in.
const infiniumOverlay = `yaml:
exporters:
  infinium:
    base_url: "%s"
    agent_id: ` + infiniumtest.AgentID + `
    agent_secret: ` + infiniumtest.AgentSecret + `
    requests_per_second: 0
    wait: 500ms
    wait_without_root: 5s
    sending_queue: {storage: file_storage, queue_size: 10000}
    retry_on_failure: {initial_interval: 100ms, max_interval: 1s}
service:
  pipelines:
    traces/infinium: {receivers: [otlp/peers], processors: [memory_limiter], exporters: [infinium]}
`

func infiniumConfig(s *infiniumtest.Server) string { return fmt.Sprintf(infiniumOverlay, s.URL()) }

// runs are Infinium's traces by the OpenTelemetry id in their tags: the steps of
// each copy or part.
type runs map[string][][]any

func runsOf(t testing.TB, s *infiniumtest.Server) runs {
	t.Helper()
	out := make(runs)
	for _, body := range s.Traces() {
		env, _ := body["environment"].(map[string]any)
		tags, _ := env["custom_tags"].(map[string]any)
		id, _ := tags[infinium.TagTraceID].(string)
		if id == "" {
			t.Fatalf("an Infinium trace without its id: %.300v", body)
		}
		steps, _ := body["steps"].([]any)
		out[id] = append(out[id], steps)
	}
	return out
}

// infiniumRuns are what hookspan itself would send of everything that is stored.
func (f *fleet) infiniumRuns() runs {
	f.t.Helper()
	ctx := f.t.Context()
	server := infiniumtest.New(f.t)
	client, err := infinium.NewClient(infinium.Options{
		BaseURL: server.URL(), AgentID: infiniumtest.AgentID, AgentSecret: infiniumtest.AgentSecret, Forms: connectors.Forms(),
	})
	if err != nil {
		f.t.Fatal(err)
	}
	for _, m := range f.machines {
		s, err := store.Open(ctx, filepath.Join(m.State(), "traces.db"))
		if err != nil {
			f.t.Fatal(err)
		}
		sums, err := s.List(ctx, store.Filter{Limit: -1})
		if err != nil {
			f.t.Fatal(err)
		}
		for _, sum := range sums {
			tr, err := s.Trace(ctx, sum.TraceID)
			if err == nil {
				err = client.UploadTraces(ctx, tr.ResourceSpans)
			}
			if err != nil {
				f.t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			f.t.Fatal(err)
		}
	}
	return runsOf(f.t, server)
}

// infinium holds what came to Infinium against what hookspan itself would have
// sent, and returns what a row's note reports.
func (f *fleet) infinium(r *proof.Result, server *infiniumtest.Server) string {
	f.t.Helper()
	want := f.infiniumRuns()
	// lacking are the runs of which a step is missing.
	lacking := func() (ids []string) {
		have := runsOf(f.t, server)
		for id, w := range want {
			if !whole(w[0], have[id]) && !allSteps(w[0], have[id]) {
				ids = append(ids, id)
			}
		}
		return ids
	}
	if !until(f.t.Context(), settle, func() bool { return len(lacking()) == 0 }) {
		for i, id := range lacking() {
			if i == 3 {
				r.Break("and %d more of %d runs", len(lacking())-i, len(want))
				break
			}
			r.Break("run %s is not whole in Infinium: it has %d steps, there are %v", id, len(want[id][0]), runsOf(f.t, server)[id])
		}
	}
	copies, parts := 0, 0
	for id, have := range runsOf(f.t, server) {
		if want[id] == nil {
			r.Break("run %s came to Infinium that is not stored", id)
			continue
		}
		copies += len(have) - 1
		if !whole(want[id][0], have) {
			parts++
		}
	}
	return fmt.Sprintf("%d of %d runs came to Infinium, %d of them in parts, %d copies or parts came once more", len(want)-len(lacking()), len(want), parts, copies)
}

// whole reports that one copy has all steps.
func whole(want []any, have [][]any) bool {
	for _, steps := range have {
		if reflect.DeepEqual(want, steps) {
			return true
		}
	}
	return false
}

// allSteps reports that the parts together have all steps.
func allSteps(want []any, have [][]any) bool {
	if len(have) == 0 {
		return false
	}
	var all []any
	for _, steps := range have {
		all = append(all, steps...)
	}
	for _, w := range want {
		found := false
		for _, h := range all {
			found = found || reflect.DeepEqual(w, h)
		}
		if !found {
			return false
		}
	}
	return true
}
