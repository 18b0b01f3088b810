package collector_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/hookspan/hookspan/internal/testkit/recorded"
	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/otelcol"
)

// machineMetrics is a Collector for the metrics of machines.
const machineMetrics = `yaml:
receivers: {otlp: {protocols: {http: {endpoint: "${env:LISTEN}"}}}}
exporters:
  prometheus: {endpoint: "${env:METRICS}", without_scope_info: true, resource_to_telemetry_conversion: {enabled: true}}
  file: {path: "${env:FILE}", flush_interval: 100ms}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {metrics: {receivers: [otlp], exporters: [prometheus, file]}}`

// startMachineMetrics starts it and returns where it takes OTLP, where it is scraped and its file.
func startMachineMetrics(t *testing.T) (endpoint, metrics, file string) {
	t.Helper()
	port, file := addresses(t), filepath.Join(t.TempDir(), "metrics.jsonl")
	listen, metrics := port(), port()
	startConfigured(t, machineMetrics, []string{"LISTEN=" + listen, "METRICS=" + metrics, "FILE=" + file}, listen, metrics)
	return "http://" + listen + "/v1/metrics", metrics, file
}

// startConfigured starts a Collector with a configuration and its environment.
func startConfigured(t *testing.T, config string, env []string, ready ...string) {
	t.Helper()
	binary, err := collector()
	if err != nil {
		t.Fatal(err)
	}
	c, err := otelcol.Start(t.Context(), otelcol.Options{Binary: binary, Dir: t.TempDir(), Configs: []string{config}, Env: env, Ready: ready})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Kill(); err != nil {
			t.Error(err)
		}
	})
}

// TestCollectorTakesTheMetricsOfAMachine holds what a Collector writes to a file and shows to
// Prometheus against hookspan stats, by either temporality.
func TestCollectorTakesTheMetricsOfAMachine(t *testing.T) {
	for _, temporality := range []string{"cumulative", "delta"} {
		t.Run(temporality, func(t *testing.T) {
			endpoint, metrics, file := startMachineMetrics(t)
			w := lab.NewCounted(t, endpoint, "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE="+temporality)
			all := recorded.Sessions()
			for some := range slices.Chunk(all, len(all)/2+1) {
				w.Count(some, nil)
				want := w.Totals()
				var got map[lab.Total]int64
				// A file is written later.
				if !until(t.Context(), patience, func() bool {
					got = filed(t, file, want, temporality == "delta")
					return cmp.Equal(want, got)
				}) {
					t.Errorf("the file (-stats +file):\n%s", cmp.Diff(want, got))
				}
				got = make(map[lab.Total]int64)
				names := make(map[string]bool)
				for _, s := range scrape(t, metrics) {
					names[s.name] = true
					addTo(got, want, s.name, s.labels, s.value)
				}
				if temporality == "cumulative" && !cmp.Equal(want, got) {
					t.Errorf("scraped (-stats +scraped):\n%s", cmp.Diff(want, got))
				}
				for _, name := range lab.MetricNames {
					if !names[name] && !strings.HasSuffix(name, "_bucket") && temporality == "cumulative" {
						t.Errorf("no %s among %v", name, slices.Sorted(maps.Keys(names)))
					}
				}
			}
		})
	}
}

// addTo adds a value to the totals that it is of.
func addTo(got, want map[lab.Total]int64, name string, labels map[string]string, v float64) {
	for one := range want {
		if name == one.Metric && labels[one.Label] == one.Value {
			n := int64(v)
			if strings.Contains(name, "usd") {
				n = lab.Nano(v)
			}
			got[one] += n
		}
	}
}

// filed are the totals in a file of OTLP/JSON, a request a line: of the last report, whose requests have one
// time, or with delta of all.
func filed(t *testing.T, path string, want map[lab.Total]int64, delta bool) map[lab.Total]int64 {
	t.Helper()
	f, err := os.Open(path) //nolint:gosec // The test's.
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	got := make(map[lab.Total]int64)
	at := uint64(0)
	for dec := json.NewDecoder(f); dec.More(); {
		var doc json.RawMessage
		if dec.Decode(&doc) != nil {
			break // It is being written.
		}
		var m collectormetrics.ExportMetricsServiceRequest
		if err := protojson.Unmarshal(doc, &m); err != nil {
			t.Fatal(err)
		}
		for _, rm := range m.GetResourceMetrics() {
			for _, one := range rm.GetScopeMetrics()[0].GetMetrics() {
				for _, p := range one.GetSum().GetDataPoints() {
					if !delta && p.GetTimeUnixNano() != at {
						at = p.GetTimeUnixNano()
						clear(got)
					}
					addTo(got, want, strings.ReplaceAll(one.GetName(), ".", "_")+"_total", labelsOf(p.GetAttributes()), p.GetAsDouble())
				}
			}
		}
	}
	return got
}

func labelsOf(all []*commonpb.KeyValue) map[string]string {
	out := make(map[string]string)
	for _, kv := range all {
		out[strings.ReplaceAll(kv.GetKey(), ".", "_")] = kv.GetValue().GetStringValue()
	}
	return out
}
