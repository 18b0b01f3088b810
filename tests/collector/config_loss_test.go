package collector_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// gate stands before a backend and answers with a status until it is opened.
type gate struct {
	*httptest.Server
	status  atomic.Int64
	refused atomic.Int64
}

func newGate(t *testing.T, to *backend, status int) *gate {
	t.Helper()
	target, err := url.Parse(to.URL)
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{}
	g.status.Store(int64(status))
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if status := g.status.Load(); status != 0 {
			g.refused.Add(1)
			if status == silent {
				// That the client has gone is seen only behind the body.
				_, _ = io.Copy(io.Discard, r.Body)
				<-r.Context().Done()
				return
			}
			w.WriteHeader(int(status))
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(g.Close)
	return g
}

// silent is the status of a gate that takes requests and answers none.
const silent = -1

func (g *gate) open() { g.status.Store(0) }

// numbered is a request with one new span and a text of some size.
func numbered(n, size int) *collectorpb.ExportTraceServiceRequest {
	id := fmt.Sprintf("%016d", n)
	return &collectorpb.ExportTraceServiceRequest{ResourceSpans: []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{{
		TraceId: []byte(id), SpanId: []byte(id[8:]), Name: strings.Repeat("x", size), StartTimeUnixNano: 1, EndTimeUnixNano: 2,
	}}}}}}}
}

func body(t *testing.T, r *collectorpb.ExportTraceServiceRequest) []byte {
	t.Helper()
	b, err := proto.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

const quickRetry = "yaml:exporters::otlp_http::retry_on_failure: {initial_interval: 50ms, max_interval: 100ms}"

// A full queue, of requests or of bytes, refuses with an answer after which
// hookspan keeps the spans; it gives out all that it took when the backend is
// back; and then it takes again.
func TestAFullQueueRefusesAndDrains(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, overlay string
		size          int
	}{
		{"of requests", "yaml:exporters::otlp_http::sending_queue: {sizer: requests, queue_size: 20, num_consumers: 1}", 10},
		{"of bytes", "yaml:exporters::otlp_http::sending_queue: {sizer: bytes, queue_size: 1000000, num_consumers: 1}", 100_000},
		{"of the file's bytes", "yaml:extensions::file_storage: {max_size: 4194304, compaction: {rebound_needed_threshold_mib: 2, rebound_trigger_threshold_mib: 1}}", 100_000},
	} {
		for _, files := range [][]string{{"agent.yaml"}, {"gateway.yaml"}} {
			t.Run(c.name+" "+files[0], func(t *testing.T) {
				t.Parallel()
				to := newBackend(t)
				g := newGate(t, to, http.StatusServiceUnavailable)
				s := startShipped(t, shippedConfig{files, map[string]string{"BACKEND_ENDPOINT": g.URL}},
					append(all(files), c.overlay, quickRetry, "yaml:service::pipelines::traces/backend::processors: [memory_limiter]")...)
				taken, n := 0, 0
				for status := http.StatusOK; status == http.StatusOK && n < 1000; n++ {
					status = post(t, "http://"+s.listen+"/v1/traces", body(t, numbered(n, c.size)))
					switch status {
					case http.StatusOK:
						taken++
					case http.StatusServiceUnavailable:
					default:
						t.Fatalf("request %d: status %d, want 503, after which hookspan tries again", n, status)
					}
				}
				if n == 1000 || taken == 0 {
					t.Fatalf("%d of %d requests were taken: the queue was never full", taken, n)
				}
				g.open()
				to.await(t, taken)
				// It takes again when it has room: the same request, as hookspan has it.
				if !until(t.Context(), patience, func() bool {
					return post(t, "http://"+s.listen+"/v1/traces", body(t, numbered(n, c.size))) == http.StatusOK
				}) {
					t.Fatal("after the outage the queue takes nothing")
				}
				to.await(t, taken+1)
			})
		}
	}
}

// A request above the limit is refused for good; agent.yaml says so.
func TestARequestAboveTheLimit(t *testing.T) {
	t.Parallel()
	to := newBackend(t)
	s := startShipped(t, shippedConfig{[]string{"agent.yaml"}, map[string]string{"BACKEND_ENDPOINT": to.URL}}, "yaml:receivers::otlp::protocols::http::max_request_body_size: 100000")
	if status := post(t, "http://"+s.listen+"/v1/traces", body(t, numbered(1, 200_000))); status != http.StatusBadRequest {
		t.Errorf("status %d, want 400", status)
	}
}

// A gateway that is asked to stop decides what waits for a decision, and its
// queue holds what has not been sent.
func TestAGatewayThatStopsLosesNothing(t *testing.T) {
	t.Parallel()
	to := newBackend(t)
	g := newGate(t, to, http.StatusServiceUnavailable)
	s := startShipped(t, shippedConfig{[]string{"gateway.yaml"}, map[string]string{"BACKEND_ENDPOINT": g.URL}},
		keepAll, quickRetry, "yaml:processors::tail_sampling: {decision_wait: 10m, decision_wait_after_root_received: 10m}")
	sent := recordedSpans(t)
	hand(t, s.listen, sent...)
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	g.open()
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	samePassed(t, spansByID(t, sent...), to)
}

// An agent that is asked to stop while its backend takes nothing has all of its
// queue at the next start.
func TestAnAgentThatStopsKeepsItsQueue(t *testing.T) {
	t.Parallel()
	const requests = 100
	for _, c := range []struct {
		backend string
		status  int
	}{
		{"overloaded", http.StatusServiceUnavailable},
		{"silent", silent},
	} {
		t.Run(c.backend, func(t *testing.T) {
			t.Parallel()
			to := newBackend(t)
			g := newGate(t, to, c.status)
			s := startShipped(t, shippedConfig{[]string{"agent.yaml"}, map[string]string{"BACKEND_ENDPOINT": g.URL}},
				quickRetry, "yaml:exporters::otlp_http: {timeout: 1s, sending_queue: {batch: {flush_timeout: 10ms, min_size: 1, max_size: 5}}}")
			for n := range requests {
				if status := post(t, "http://"+s.listen+"/v1/traces", body(t, numbered(n, 10))); status != http.StatusOK {
					t.Fatalf("request %d: status %d", n, status)
				}
			}
			if !until(t.Context(), patience, func() bool { return g.refused.Load() > 0 }) {
				t.Fatal("the agent has tried nothing")
			}
			if err := s.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			g.open()
			if err := s.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
			to.await(t, requests)
		})
	}
}
