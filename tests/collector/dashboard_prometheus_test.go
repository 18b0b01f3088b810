package collector_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/testkit/otlptest"
	"github.com/hookspan/hookspan/internal/testkit/skip"
	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/otelcol"
	"github.com/hookspan/hookspan/tests/internal/rig"
)

// scrapeEvery is how often the test's Prometheus asks, flushOften how often its gateways
// bring what they count of spans up to date.
const (
	scrapeEvery = 500 * time.Millisecond
	flushOften  = "yaml:connectors: {agent_metrics: {interval: 200ms}}"
)

// observed is two gateways and the Prometheus that scrapes them.
type observed struct {
	t        *testing.T
	gateways []*otelcol.Collector
	options  []otelcol.Options
	listens  []string
	// targets are what Prometheus calls the gateways.
	targets []string
	// base is Prometheus' address, began the moment before the first scrape.
	base  string
	began time.Time
	// source is the value of the variable.
	source string
	// machines is where machines send metrics to.
	machines string
}

// prometheusProgram is where the machine has it, or where tests/setup.sh has
// unpacked it. Without one the test is skipped.
func prometheusProgram(t *testing.T) string {
	t.Helper()
	if path, err := exec.LookPath("prometheus"); err == nil {
		return path
	}
	cache, err := rig.DefaultCache()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(cache, "prometheus", "usr", "bin", "prometheus")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		skip.Missing(t, "no prometheus on this machine: tests/setup.sh brings it where apt-get has it")
	}
	return path
}

func observeGateways(t *testing.T) *observed {
	t.Helper()
	program := prometheusProgram(t)
	binary, err := collector()
	if err != nil {
		t.Fatal(err)
	}
	port := addresses(t)
	o := &observed{t: t, began: time.Now(), source: ofGateways}
	backend := otlptest.New(t)
	config, err := otelcol.Config("gateway.yaml")
	if err != nil {
		t.Fatal(err)
	}
	peers, metrics, own := []string{port(), port()}, []string{port(), port()}, []string{port(), port()}
	for i := range peers {
		dir, health, listen := t.TempDir(), port(), port()
		o.listens = append(o.listens, listen)
		o.options = append(o.options, otelcol.Options{
			Binary: binary, Dir: dir, Configs: []string{config, flushOften},
			Env: []string{
				"GATEWAY_HEALTH=" + health, "GATEWAY_LISTEN=" + listen,
				"GATEWAY_PEER_LISTEN=" + peers[i], "GATEWAY_PEERS=[" + strings.Join(peers, ",") + "]", "GATEWAY_METRICS=" + metrics[i],
				"GATEWAY_OWN_METRICS_PORT=" + own[i][strings.LastIndexByte(own[i], ':')+1:], "GATEWAY_LABELS=team.id,vcs.repository.name",
				"BACKEND_ENDPOINT=" + strings.TrimSuffix(backend.URL(), otlptest.Path), "QUEUE_DIRECTORY=" + filepath.Join(dir, "queue"),
			},
			Ready: []string{"http://" + health, listen, peers[i], metrics[i]},
		})
	}
	o.targets = metrics
	o.start()

	dir, address := t.TempDir(), port()
	file := filepath.Join(dir, "prometheus.yml")
	endpoint, machines, _ := startMachineMetrics(t)
	o.machines = endpoint
	if err := os.WriteFile(file, exampleScrape(t, metrics, own, machines), 0o600); err != nil {
		t.Fatal(err)
	}
	o.base = "http://" + address
	o.run(otelcol.Options{
		Binary: program, Dir: dir, Ready: []string{o.base + "/-/ready"},
		Args: []string{
			"--config.file=" + file, "--storage.tsdb.path=" + filepath.Join(dir, "data"),
			"--web.listen-address=" + address, "--log.level=warn",
		},
	})
	return o
}

// run starts a program and ends it with the test.
func (o *observed) run(options otelcol.Options) *otelcol.Collector {
	o.t.Helper()
	c, err := otelcol.Start(o.t.Context(), options)
	if err != nil {
		o.t.Fatal(err)
	}
	o.t.Cleanup(func() {
		if err := c.Kill(); err != nil {
			o.t.Error(err)
		}
	})
	return c
}

// start starts the gateways, each under the name it always has.
func (o *observed) start() {
	o.t.Helper()
	o.gateways = nil
	for i, options := range o.options {
		options.Env = append(slices.Clone(options.Env), fmt.Sprintf("GATEWAY_NAME=gateway %d", i+1))
		o.gateways = append(o.gateways, o.run(options))
	}
}

// exampleScrape is the example for Prometheus with these gateways in it, and another job for a
// Collector with metrics of machines.
func exampleScrape(t *testing.T, gateways, own []string, machines string) []byte {
	t.Helper()
	b, err := os.ReadFile(grafanaFile(t, "prometheus.yml"))
	if err != nil {
		t.Fatal(err)
	}
	for old, now := range map[string]string{
		`["127.0.0.1:9464"]`:   "[" + strings.Join(gateways, ",") + "]",
		`["127.0.0.1:8888"]`:   "[" + strings.Join(own, ",") + "]",
		"scrape_interval: 15s": "scrape_interval: " + scrapeEvery.String(),
		"scrape_configs:":      "scrape_configs:\n  - {job_name: machines, honor_labels: true, static_configs: [{targets: [" + machines + "]}]}",
	} {
		if bytes.Count(b, []byte(old)) != 1 {
			t.Fatalf("prometheus.yml should have %q once", old)
		}
		b = bytes.ReplaceAll(b, []byte(old), []byte(now))
	}
	return b
}

// send gives a request to one of the gateways, whichever of them its traces
// belong to. Right after a start a gateway may not have reached its peer yet: it
// then refuses all of the request, or, where its traces belong to two, half.
func (o *observed) send(gateway int, doc []byte) {
	o.t.Helper()
	var last string
	if !until(o.t.Context(), 30*time.Second, func() bool {
		req, err := http.NewRequestWithContext(o.t.Context(), http.MethodPost, "http://"+o.listens[gateway]+otlptest.Path, bytes.NewReader(doc))
		if err != nil {
			o.t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			last = err.Error()
			return false
		}
		body, err := io.ReadAll(resp.Body)
		last = fmt.Sprintf("%s %s %v", resp.Status, body, errors.Join(err, resp.Body.Close()))
		return resp.StatusCode == http.StatusOK
	}) {
		o.t.Fatalf("gateway %d takes nothing: %s", gateway, last)
	}
}

// deliver plays a recorded session of Cline through the real hooks and lets
// hookspan send it to a gateway. The spans are those that it has stored.
func (o *observed) deliver(gateway int) []otlptest.Span {
	o.t.Helper()
	w := lab.New(o.t, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://"+o.listens[gateway]+otlptest.Path)
	home := filepath.Join(w.Home, ".cline", "data", "tasks", "1795175957341")
	if err := os.CopyFS(home, os.DirFS(filepath.Join("..", "..", "internal", "demo", "task"))); err != nil {
		o.t.Fatal(err)
	}
	w.Play(lab.Recording(o.t, "..", "..", "internal", "demo", "session"))
	w.Settle()
	for name, r := range w.Flush() {
		if len(r.Errors) > 0 || r.Waiting > 0 || r.Parked > 0 {
			o.t.Fatalf("delivery to %s: %+v", name, r)
		}
	}
	if n := len(w.OTLP.Spans()); n > 0 {
		o.t.Fatalf("%d spans went past the gateway", n)
	}
	return w.Stored()
}

// promLine is one line of an answer: its labels, and its value at each step.
type promLine struct {
	Labels map[string]string `json:"metric"`
	Value  [2]any            `json:"value"`
	Values [][2]any          `json:"values"`
}

// last is the value of an instant query's line.
func (s *promLine) last() float64 { return pointValue(s.Value) }

// sum is what all steps of a line add up to.
func (s *promLine) sum() (sum float64) {
	for _, v := range s.Values {
		sum += pointValue(v)
	}
	return sum
}

func pointValue(point [2]any) float64 {
	text, _ := point[1].(string)
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic(fmt.Sprintf("a value of Prometheus is %v: %v", point, err))
	}
	return f
}

// ask is one call of Prometheus' API, the answer's data in into.
func (o *observed) ask(ctx context.Context, path string, form url.Values, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, o.base+"/api/v1/"+path+"?"+form.Encode(), nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req) //nolint:gosec // Our own server on loopback.
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	var answer struct {
		Status, Error string
		Data          json.RawMessage
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return err
	}
	if answer.Status != "success" {
		return fmt.Errorf("prometheus answers %s: %s", resp.Status, answer.Error)
	}
	return json.Unmarshal(answer.Data, into)
}

// instant asks as a panel of single values does: what is, over the time shown.
func (o *observed) instant(expr string, shown time.Duration) ([]promLine, error) {
	var data struct{ Result []promLine }
	err := o.ask(o.t.Context(), "query", url.Values{"query": {o.asGrafana(expr, shown, shown)}}, &data)
	return data.Result, err
}

// over asks as a panel with a time axis does. Like Grafana it puts the steps on
// multiples of their distance.
func (o *observed) over(expr string, from, to time.Time, step time.Duration) ([]promLine, error) {
	var data struct{ Result []promLine }
	err := o.ask(o.t.Context(), "query_range", url.Values{
		"query": {o.asGrafana(expr, to.Sub(from), step)},
		"start": {strconv.FormatInt(from.Truncate(step).Unix(), 10)}, "end": {strconv.FormatInt(to.Truncate(step).Unix(), 10)},
		"step": {strconv.FormatFloat(step.Seconds(), 'f', -1, 64)},
	}, &data)
	return data.Result, err
}

// asGrafana puts in what Grafana puts in where "All" is chosen everywhere.
func (o *observed) asGrafana(expr string, shown, step time.Duration) string {
	seconds := func(d time.Duration) string { return strconv.Itoa(max(1, int(d.Seconds()))) + "s" }
	return strings.NewReplacer("$__range", seconds(shown), "$__interval", seconds(step), "$source", o.source,
		"$agent", ".*", "$team", ".*", "$repository", ".*", "$model", ".*", "$tool", ".*").Replace(expr)
}

var labelValuesForm = regexp.MustCompile(`^label_values\((.+), (\w+)\)$`)

// values are the choices that a variable offers.
func (o *observed) values(v *boardVariable) ([]string, error) {
	query, err := v.ask()
	if err != nil {
		return nil, err
	}
	m := labelValuesForm.FindStringSubmatch(query)
	if m == nil {
		return nil, fmt.Errorf("%q is not of the form label_values(METRIC, LABEL)", query)
	}
	var out []string
	err = o.ask(o.t.Context(), "label/"+m[2]+"/values", url.Values{"match[]": {o.asGrafana(m[1], 0, 0)}}, &out)
	return out, err
}
