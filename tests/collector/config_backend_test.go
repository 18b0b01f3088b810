package collector_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/testkit/recorded"
	"github.com/hookspan/hookspan/tests/internal/otelcol"
)

// patience is how long a test waits for what has to come.
const patience = time.Minute

// backend is where a Collector under test sends: it keeps each request, whatever
// its path, and says yes.
type backend struct {
	*httptest.Server
	mu   sync.Mutex
	came []arrival
}

type arrival struct {
	path   string
	header http.Header
	// body is decompressed.
	body []byte
}

func newBackend(t *testing.T) *backend {
	t.Helper()
	b := &backend{}
	b.Server = httptest.NewServer(b)
	t.Cleanup(b.Close)
	return b
}

func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err == nil && r.Header.Get("Content-Encoding") == "gzip" {
		var zr *gzip.Reader
		if zr, err = gzip.NewReader(bytes.NewReader(body)); err == nil {
			body, err = io.ReadAll(zr)
		}
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	b.mu.Lock()
	b.came = append(b.came, arrival{r.URL.Path, r.Header, body})
	b.mu.Unlock()
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func (b *backend) arrivals() []arrival {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]arrival(nil), b.came...)
}

// placed is a span with the resource it belongs to.
type placed struct {
	*tracepb.Span
	resource []*commonpb.KeyValue
}

// spansByID are the spans of requests, by trace and span id.
func spansByID(t *testing.T, requests ...*collectorpb.ExportTraceServiceRequest) map[string]placed {
	t.Helper()
	out := map[string]placed{}
	for _, r := range requests {
		for _, rs := range r.GetResourceSpans() {
			for _, ss := range rs.GetScopeSpans() {
				for _, s := range ss.GetSpans() {
					out[fmt.Sprintf("%x %x", s.GetTraceId(), s.GetSpanId())] = placed{s, rs.GetResource().GetAttributes()}
				}
			}
		}
	}
	return out
}

func (b *backend) spans(t *testing.T) map[string]placed {
	t.Helper()
	var requests []*collectorpb.ExportTraceServiceRequest
	for _, a := range b.arrivals() {
		var r collectorpb.ExportTraceServiceRequest
		if err := proto.Unmarshal(a.body, &r); err != nil {
			t.Fatalf("a request to %s is no traces: %v", a.path, err)
		}
		requests = append(requests, &r)
	}
	return spansByID(t, requests...)
}

// await returns the spans when at least n different ones have come.
func (b *backend) await(t *testing.T, n int) map[string]placed {
	t.Helper()
	if !until(t.Context(), patience, func() bool { return len(b.spans(t)) >= n }) {
		t.Fatalf("%d spans have come, want %d", len(b.spans(t)), n)
	}
	return b.spans(t)
}

// recordedSpans are all recorded sessions, mapped: what hookspan sends of them.
func recordedSpans(t *testing.T) []*collectorpb.ExportTraceServiceRequest {
	t.Helper()
	var out []*collectorpb.ExportTraceServiceRequest
	for _, run := range recorded.Spans(t) {
		r := &collectorpb.ExportTraceServiceRequest{ResourceSpans: []*tracepb.ResourceSpans{run}}
		// The Collector gives every span a status, which is empty where none was set.
		for span := range otlp.Spans(r.GetResourceSpans()) {
			if span.Status == nil {
				span.Status = &tracepb.Status{}
			}
		}
		out = append(out, r)
	}
	return out
}

// hand sends requests as hookspan does, and wants each taken.
func hand(t *testing.T, address string, requests ...*collectorpb.ExportTraceServiceRequest) {
	t.Helper()
	for _, r := range requests {
		b, err := proto.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if status := post(t, "http://"+address+"/v1/traces", b); status != http.StatusOK {
			t.Fatalf("the Collector answers %d", status)
		}
	}
}

func post(t *testing.T, url string, body []byte) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	resp, err := http.DefaultClient.Do(req) //nolint:gosec // An address of loopback.
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	return resp.StatusCode
}

// started is a Collector that runs with files of collector-config.
type started struct {
	*otelcol.Collector
	// listen takes traces, metrics shows a gateway's.
	listen, metrics, dir string
}

// startShipped starts one on free ports. Behind a gateway's file its times are
// shortened: a test does not wait for minutes. All else is as shipped.
func startShipped(t *testing.T, c shippedConfig, more ...string) started {
	t.Helper()
	binary, err := collector()
	if err != nil {
		t.Fatal(err)
	}
	next := addresses(t)
	dir := t.TempDir()
	s := started{dir: dir, listen: next()}
	o := otelcol.Options{Binary: binary, Dir: dir, Configs: c.paths(t), Env: c.environ(dir), Ready: []string{s.listen}}
	if c.files[0] == "agent.yaml" {
		o.Env = append(o.Env, "AGENT_LISTEN="+s.listen)
	} else {
		peers, health := next(), next()
		s.metrics = next()
		o.Env = append(o.Env, "GATEWAY_LISTEN="+s.listen, "GATEWAY_PEER_LISTEN="+peers, "GATEWAY_PEERS=["+peers+"]",
			"GATEWAY_PEER_PORT="+peers[strings.LastIndexByte(peers, ':')+1:], "GATEWAY_METRICS="+s.metrics, "GATEWAY_HEALTH="+health)
		o.Configs = append(o.Configs, `yaml:
processors: {tail_sampling: {decision_wait: 3s, decision_wait_after_root_received: 1s}}
connectors: {agent_metrics: {interval: 1s}}`, withoutOwnMetrics)
		o.Ready = append(o.Ready, "http://"+health, peers)
	}
	o.Configs = append(o.Configs, more...)
	if s.Collector, err = otelcol.Start(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Kill(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("of the Collector's log:\n%s", end(complaints(s.Log())))
		}
	})
	return s
}

// complaints are the warnings and errors of a log, without where they come from.
func complaints(log string) string {
	var out strings.Builder
	for line := range strings.Lines(log) {
		if strings.Contains(line, "\twarn\t") || strings.Contains(line, "\terror\t") {
			out.WriteString(line)
		}
	}
	return out.String()
}

func (c shippedConfig) with(key, value string) shippedConfig {
	env := map[string]string{key: value}
	for k, v := range c.env {
		if k != key {
			env[k] = v
		}
	}
	return shippedConfig{c.files, env}
}
