package fault_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	colmetricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

// metricsRows kill deliveries that send metrics.
var metricsRows = []proof.Row{{
	Name:  "SIGKILL at a random moment of one of two deliveries at once, with metrics on",
	Rule:  "no total of the metrics ever falls; in the end the totals are those of the store, whose calls are its spans",
	Short: 40, Long: 4000,
	Run: killMetrics,
}}

// totals are the calls that metrics have reported, by the series.
type totals struct {
	mu    sync.Mutex
	calls map[string]float64
	falls int
}

func (o *totals) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	var m colmetricspb.ExportMetricsServiceRequest
	body, err := io.ReadAll(r.Body)
	if err != nil || proto.Unmarshal(body, &m) != nil {
		return // A sender that was killed.
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, rm := range m.GetResourceMetrics() {
		service := otlp.Text(rm.GetResource().GetAttributes(), "service.name")
		for _, one := range rm.GetScopeMetrics()[0].GetMetrics() {
			for _, p := range one.GetSum().GetDataPoints() {
				key := service + one.GetName()
				for _, kv := range p.GetAttributes() {
					key += " " + kv.GetValue().GetStringValue()
				}
				if one.GetName() != "agent.calls" {
					continue
				}
				if p.GetAsDouble() < o.calls[key] {
					o.falls++
				}
				o.calls[key] = p.GetAsDouble()
			}
		}
	}
}

func (o *totals) sum() (n float64) {
	for _, v := range o.calls {
		n += v
	}
	return n
}

func killMetrics(t *testing.T, r *proof.Result) {
	got := &totals{calls: make(map[string]float64)}
	server := httptest.NewServer(got)
	t.Cleanup(server.Close)
	w := lab.NewCounted(t, server.URL+"/v1/metrics", "OTEL_METRIC_EXPORT_INTERVAL=1")
	times := &moments{rnd: rand.New(rand.NewPCG(59, 1)), mean: float64(time.Second)} //nolint:gosec // No secret hangs on it.
	var l ledger
	var mu sync.Mutex
	ended := 0
	for n := range r.N {
		a := &hosts[n%2]
		for _, hook := range []string{a.tool, a.tool, a.end} { // The last one starts a delivery, too.
			if err := a.hook(w, hook, fmt.Sprint("metrics-", n), l.number()); err != nil {
				t.Fatal(err)
			}
		}
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				killed, _ := times.killed(w.Program("hookspan", "flush"))
				mu.Lock()
				defer mu.Unlock()
				if !killed {
					ended++
				}
			})
		}
		both.Wait()
		r.Trial(1)
	}
	w.Settle()
	w.Flush()
	s, err := store.Open(t.Context(), filepath.Join(w.State(), "traces.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	counted, err := s.Sums(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	want := 0.0
	for _, p := range counted.Points {
		if p.Series.Instrument == "agent.calls" {
			want += float64(p.Total[0])
		}
	}
	if spans := len(w.Stored()); got.falls > 0 || got.sum() != want || want != float64(spans) || spans < r.N {
		r.Break("%d totals fell; %v calls were reported, the store has counted %v of %d spans", got.falls, got.sum(), want, spans)
	}
	r.Note("%d of %d deliveries ended before their moment came", ended, 2*r.N)
}
