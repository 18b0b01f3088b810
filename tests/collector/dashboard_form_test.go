package collector_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/testkit/skip"
)

// boardHistories are totals of one series, a sample a minute for twenty minutes, and
// what was added in the last ten. "4+0x12" is 4 and again 12 times, "_x8" is
// nothing 8 times.
var boardHistories = map[string]struct {
	samples string
	added   float64
}{
	"grows":                          {"2+0x12 5+0x7", 3},
	"begins":                         {"_x12 3+0x8", 3},
	"rests":                          {"4+0x20", 0},
	"ends":                           {"4+0x11 6+0x2 _x6", 2},
	"ended before":                   {"4+0x5 _x15", 0},
	"begins anew in the window":      {"4+0x12 1+0x7", 1},
	"begins anew and outgrows":       {"4+0x11 0+0x1 9+0x7", 9},
	"begins anew while not seen":     {"4+0x5 _x8 1+0x6", 1},
	"goes on after it was not seen":  {"4+0x5 _x8 6+0x6", 2},
	"is seen once":                   {"_x20 7", 7},
	"begins and ends in the window":  {"_x12 3+0x4 _x3", 3},
	"begins, grows and is not reset": {"_x11 1 2 3 4+0x6", 4},
}

// TestDashboardCountsWhatWasAdded gives the query of a panel to promtool, which
// makes a Prometheus' data of each history and asks.
func TestDashboardCountsWhatWasAdded(t *testing.T) {
	promtool := filepath.Join(filepath.Dir(prometheusProgram(t)), "promtool")
	if _, err := os.Stat(promtool); err != nil {
		skip.Missing(t, "there is a prometheus, but no promtool beside it: %v", err)
	}
	d, _ := readDashboard(t)
	_, q := d.find(t, "Runs", "")
	var tests []map[string]any
	history := func(name, gateway, samples string, step time.Duration, added float64) {
		// Where nothing is left to add up, the answer is empty: that is 0 too.
		expected := []map[string]any{{"labels": "{}", "value": added}}
		if name == "ended before" {
			expected = nil
		}
		o := &observed{source: ofGateways}
		if gateway == "" {
			o.source = ofMachines
		}
		tests = append(tests, map[string]any{
			"name": name + " " + gateway, "interval": step.String(),
			"input_series": []map[string]any{
				{"series": `agent_calls_total{hookspan_outcome="completed",job="cline",gateway="` + gateway + `"}`, "values": samples},
				{"series": `agent_calls_total{hookspan_outcome="completed",job="cline",gateway="` + map[string]string{"": "gw"}[gateway] + `"}`, "values": "1+1x20"},
			},
			"promql_expr_test": []map[string]any{{"expr": o.asGrafana(q.Expr, 10*step, 10*step), "eval_time": (20 * step).String(), "exp_samples": expected}},
		})
	}
	for name, h := range boardHistories {
		history(name, "gw", h.samples, time.Minute, h.added)
		history(name, "", h.samples, time.Minute, h.added)
	}
	// What a gateway has not sent for days has begun anew. A machine's totals stay.
	history("rests for days", "gw", "4+0x5 _x8 6+0x6", 12*time.Hour, 6)
	history("rests for days", "", "4+0x5 _x8 6+0x6", 12*time.Hour, 2)
	// JSON is YAML.
	b, err := json.Marshal(map[string]any{"tests": tests})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "histories.yml")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), promtool, "test", "rules", file).CombinedOutput(); err != nil { //nolint:gosec // Where Prometheus is.
		t.Errorf("%v\n%s", err, out)
	}
}

// TestAlertRulesFire gives the rules for Prometheus to promtool, with the series of a
// gateway that works and of one that does not.
func TestAlertRulesFire(t *testing.T) {
	promtool := filepath.Join(filepath.Dir(prometheusProgram(t)), "promtool")
	if _, err := os.Stat(promtool); err != nil {
		skip.Missing(t, "there is a prometheus, but no promtool beside it: %v", err)
	}
	out, err := exec.CommandContext(t.Context(), promtool, "test", "rules", grafanaFile(t, "alerts_test.yml")).CombinedOutput() //nolint:gosec // Our own file.
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
