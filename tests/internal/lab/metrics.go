package lab

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/testkit/recorded"
	"github.com/hookspan/hookspan/internal/traces/store"
)

// MetricNames are those of the metrics of the recorded sessions, as Prometheus spells them.
var MetricNames = strings.Fields(`agent_calls_total agent_duration_seconds_bucket agent_duration_seconds_count agent_duration_seconds_sum
	gen_ai_client_operation_duration_seconds_bucket gen_ai_client_operation_duration_seconds_count gen_ai_client_operation_duration_seconds_sum
	gen_ai_client_token_usage_bucket gen_ai_client_token_usage_count gen_ai_client_token_usage_sum
	hookspan_cache_creation_tokens_total hookspan_cache_read_tokens_total hookspan_cost_usd_total hookspan_run_cost_usd_total hookspan_run_tokens_total`)

// NewCounted makes a machine that sends metrics to an endpoint and nothing else. It has no traces.
func NewCounted(t testing.TB, endpoint string, settings ...string) *World {
	t.Helper()
	return New(t, append([]string{
		"HOOKSPAN_EXPORTERS=store", "HOOKSPAN_METRICS=true", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=" + endpoint, "HOOKSPAN_RETENTION=876000h",
	}, settings...)...)
}

// Count stores and counts recorded sessions, and sends the metrics.
func (w *World) Count(sessions []recorded.Session, change func(*tracepb.ResourceSpans, int)) {
	w.T.Helper()
	if err := os.MkdirAll(w.State(), 0o700); err != nil {
		w.T.Fatal(err)
	}
	s, err := store.Open(w.T.Context(), filepath.Join(w.State(), "traces.db"))
	if err == nil {
		err = s.Measure(w.T.Context(), true)
	}
	for i, one := range sessions {
		for _, m := range recorded.Spans(w.T, one.Name()) {
			if change != nil {
				change(m, i)
			}
			if err == nil {
				err = s.UploadTraces(w.T.Context(), []*tracepb.ResourceSpans{m})
			}
		}
	}
	if err != nil {
		w.T.Fatal(err)
	}
	if err := s.Close(); err != nil {
		w.T.Fatal(err)
	}
	w.Flush()
}

// Total is a sum of a metric over the series with a label's value.
type Total struct{ Metric, Label, Value string }

// Totals are the sums that hookspan stats has. Costs are in billionths of a dollar.
func (w *World) Totals() map[Total]int64 {
	w.T.Helper()
	stats := func(args ...string) (out struct {
		Totals store.Totals
		Groups []store.Group
	},
	) {
		text, errs, _ := w.Hookspan(append([]string{"stats", "--json"}, args...)...)
		if err := json.Unmarshal([]byte(text), &out); err != nil {
			w.T.Fatalf("hookspan stats: %v: %s", err, errs)
		}
		return out
	}
	all := stats().Totals
	out := map[Total]int64{
		{"agent_calls_total", "gen_ai_operation_name", "execute_tool"}: int64(all.Calls),
		{"hookspan_run_tokens_total", "gen_ai_token_type", "input"}:    all.Usage.Input,
		{"hookspan_run_tokens_total", "gen_ai_token_type", "output"}:   all.Usage.Output,
		{"hookspan_run_cost_usd_total", "", ""}:                        Nano(*all.Usage.CostUSD),
	}
	for _, g := range stats("--by", "agent").Groups {
		if g.Usage != nil && g.Usage.CostUSD != nil {
			out[Total{"hookspan_run_cost_usd_total", "gen_ai_agent_name", g.Key}] = Nano(*g.Usage.CostUSD)
		}
	}
	return out
}

// Nano returns a sum in whole numbers, costs in billionths of a dollar.
func Nano(usd float64) int64 { return int64(math.Round(usd * 1e9)) }
