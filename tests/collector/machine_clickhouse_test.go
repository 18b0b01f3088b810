package collector_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/internal/testkit/recorded"
	"github.com/hookspan/hookspan/tests/internal/lab"
)

// clickHouseMetrics is a Collector whose exporter makes its tables and writes the metrics of machines there.
const clickHouseMetrics = `yaml:
receivers: {otlp: {protocols: {http: {endpoint: "${env:LISTEN}"}}}}
exporters: {clickhouse: {endpoint: "${env:ENGINE}", database: otel, compress: none}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {metrics: {receivers: [otlp], exporters: [clickhouse]}}`

// TestClickHouseHasTheMetricsOfAMachine holds the tables of the Collector's exporter against hookspan stats,
// by either temporality.
func TestClickHouseHasTheMetricsOfAMachine(t *testing.T) {
	for _, temporality := range []string{"cumulative", "delta"} {
		t.Run(temporality, func(t *testing.T) {
			e := newEngine(t)
			listen := addresses(t)()
			startConfigured(t, clickHouseMetrics, []string{"LISTEN=" + listen, "ENGINE=http://" + e.address}, listen)
			w := lab.NewCounted(t, "http://"+listen+"/v1/metrics", "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE="+temporality)
			all := recorded.Sessions()
			for some := range slices.Chunk(all, len(all)/2+1) {
				w.Count(some, nil)
				want := w.Totals()
				var got map[lab.Total]int64
				if !until(t.Context(), patience, func() bool {
					got = clickHouseTotals(e, want, temporality)
					return cmp.Equal(want, got)
				}) {
					t.Errorf("the tables (-stats +ClickHouse):\n%s", cmp.Diff(want, got))
				}
			}
		})
	}
}

// clickHouseTotals are of the newest points, or with delta of all. The histogram of the durations has as many
// observations as there are calls.
func clickHouseTotals(e *engine, want map[lab.Total]int64, temporality string) map[lab.Total]int64 {
	e.t.Helper()
	got, durations := make(map[lab.Total]int64), int64(0)
	code, value := 2, "argMax(%s, TimeUnix)"
	if temporality == "delta" {
		code, value = 1, "sum(%s)"
	}
	for table, column := range map[string]string{"otel_metrics_sum": "Value", "otel_metrics_histogram": "Count"} {
		for _, r := range e.run(fmt.Sprintf(`SELECT MetricName AS name, Attributes AS labels, `+value+` AS n FROM otel.%s
			WHERE AggregationTemporality = %d AND ResourceAttributes['service.instance.id'] != '' GROUP BY ServiceName, ResourceAttributes, name, labels`, column, table, code)) {
			labels := make(map[string]string)
			for k, v := range r["labels"].(map[string]any) {
				labels[strings.ReplaceAll(k, ".", "_")] = fmt.Sprint(v)
			}
			name := strings.ReplaceAll(fmt.Sprint(r["name"]), ".", "_") + "_total"
			if name == "agent_duration_total" && labels["gen_ai_operation_name"] == "execute_tool" {
				durations += int64(r.value("n"))
			}
			addTo(got, want, name, labels, r.value("n"))
		}
	}
	if calls := got[lab.Total{Metric: "agent_calls_total", Label: "gen_ai_operation_name", Value: "execute_tool"}]; durations != calls {
		e.t.Logf("%d durations of %d calls", durations, calls)
		return nil
	}
	return got
}
