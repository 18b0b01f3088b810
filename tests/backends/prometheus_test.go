package backends

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/internal/testkit/recorded"
	"github.com/hookspan/hookspan/tests/internal/built"
	"github.com/hookspan/hookspan/tests/internal/lab"
)

// prometheusConfig is what docs/backends.md advises.
const prometheusConfig = "otlp: {promote_resource_attributes: [team.id]}\n"

// TestPrometheusHasWhatStatsSays sends the metrics of a machine to Prometheus' OTLP receiver, in two
// reports, and holds its names and sums against hookspan stats.
func TestPrometheusHasWhatStatsSays(t *testing.T) {
	asked(t)
	dir := t.TempDir()
	program, err := build(t.Context(), "prometheus", "github.com/prometheus/prometheus/cmd/prometheus", dir)
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(config, []byte(prometheusConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	at := addresses(t, 1)[0]
	start(t, dir, "http://"+at+"/-/ready", nil, program, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+at, "--web.enable-otlp-receiver")
	lab.Programs = t.TempDir()
	if err := built.Put(t.Context(), lab.Programs, "cmd/hookspan"); err != nil {
		t.Fatal(err)
	}
	w := lab.NewCounted(t, "http://"+at+"/api/v1/otlp/v1/metrics", "OTEL_RESOURCE_ATTRIBUTES=team.id=core")
	all := recorded.Sessions()
	for some := range slices.Chunk(all, len(all)/2+1) {
		w.Count(some, nil)
		want := w.Totals()
		await(t, "totals in Prometheus", func(ctx context.Context) error {
			got := make(map[lab.Total]int64)
			for one := range want {
				v, err := prometheusSum(ctx, at, one)
				if err != nil {
					return err
				}
				got[one] = v
			}
			if diff := cmp.Diff(want, got); diff != "" {
				return fmt.Errorf("(-stats +Prometheus):\n%s", diff)
			}
			return nil
		})
	}
	var answer struct{ Data []string }
	if err := ask(t.Context(), http.MethodGet, "http://"+at+"/api/v1/label/__name__/values", nil, &answer); err != nil {
		t.Fatal(err)
	}
	names := slices.DeleteFunc(answer.Data, func(name string) bool { return name == "target_info" })
	if diff := cmp.Diff(lab.MetricNames, names); diff != "" {
		t.Errorf("names (-want +Prometheus):\n%s", diff)
	}
}

// prometheusSum asks for a total of one team.
func prometheusSum(ctx context.Context, at string, one lab.Total) (int64, error) {
	labels := map[string]string{"team_id": "core"}
	if one.Label != "" {
		labels[one.Label] = one.Value
	}
	var is []string
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		is = append(is, k+"="+strconv.Quote(labels[k]))
	}
	query := fmt.Sprintf("sum(%s{%s})", one.Metric, strings.Join(is, ","))
	var answer struct {
		Data struct{ Result []struct{ Value [2]any } }
	}
	if err := ask(ctx, http.MethodGet, "http://"+at+"/api/v1/query?query="+url.QueryEscape(query), nil, &answer); err != nil {
		return 0, err
	}
	if len(answer.Data.Result) == 0 {
		return 0, nil
	}
	text, _ := answer.Data.Result[0].Value[1].(string)
	v, err := strconv.ParseFloat(text, 64)
	if strings.Contains(one.Metric, "usd") {
		return lab.Nano(v), err
	}
	return int64(v), err
}
