package collector_test

import (
	"encoding/binary"
	"encoding/hex"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/internal/testkit/infiniumtest"
	"github.com/hookspan/hookspan/internal/testkit/skip"
)

// again is a request under a new trace id, with a text of some size on its
// first span.
func again(r *collectorpb.ExportTraceServiceRequest, n, size int) *collectorpb.ExportTraceServiceRequest {
	r = proto.Clone(r).(*collectorpb.ExportTraceServiceRequest)
	for _, rs := range r.ResourceSpans {
		for _, ss := range rs.ScopeSpans {
			for _, s := range ss.Spans {
				s.TraceId = binary.BigEndian.AppendUint64(make([]byte, 8), uint64(n)+1) //nolint:gosec // Small.
				if size > 0 {
					s.Attributes = append(s.Attributes, &commonpb.KeyValue{Key: "padding", Value: &commonpb.AnyValue{
						Value: &commonpb.AnyValue_StringValue{StringValue: strings.Repeat("x", size)},
					}})
					size = 0
				}
			}
		}
	}
	return r
}

// Infinium that cannot be reached fills its queue on the disk and nothing else:
// then the gateway refuses.
func TestInfiniumThatIsAwayTakesNoMemory(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		skip.Missing(t, "the memory of another process is known on Linux alone")
	}
	to := newBackend(t)
	s := startShipped(t, shippedConfig{[]string{"gateway.yaml", "infinium.yaml"}, map[string]string{
		"BACKEND_ENDPOINT": to.URL, "KEEP_PERCENT": "0", "INFINIUM_BASE_URL": "http://127.0.0.1:1",
		"INFINIUM_AGENT_ID": infiniumtest.AgentID, "INFINIUM_AGENT_SECRET": infiniumtest.AgentSecret,
	}}, "yaml:exporters::infinium::sending_queue::queue_size: 100", "yaml:extensions::file_storage::fsync: false",
		// What is sampled waits in memory, which is not what is measured.
		"yaml:service::pipelines::traces/backend: {processors: [memory_limiter], exporters: [agent_metrics]}")
	const (
		requests = 2000
		size     = 100_000
		most     = 150 << 20
	)
	one := recordedSpans(t)[0]
	rss := func() int64 {
		n, err := s.RSS()
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	taken, refused := 0, 0
	before := rss()
	for n := range requests {
		switch status := post(t, "http://"+s.listen+"/v1/traces", body(t, again(one, n, size))); status {
		case http.StatusOK:
			taken++
		case http.StatusServiceUnavailable:
			refused++
		default:
			t.Fatalf("request %d: status %d, want 200 or 503", n, status)
		}
	}
	grown := rss() - before
	t.Logf("of %d requests of %d kB, %d were taken and %d refused; the gateway grew by %d MiB", requests, size/1000, taken, refused, grown>>20)
	// A push that waits has left the queue.
	if taken > 300 || refused == 0 {
		t.Errorf("%d requests were taken, %d refused: want no more than the queue of 100 and what is gathered", taken, refused)
	}
	if grown > most {
		t.Errorf("the gateway grew by %d MiB, want at most %d, whatever is offered", grown>>20, most>>20)
	}
	if log := s.Log(); !strings.Contains(log, "Infinium does not accept traces") {
		t.Errorf("the log does not say that Infinium is away:\n%s", end(complaints(log)))
	}
}

// A run that Infinium refuses for good is named in the log and kept in a file,
// which can be sent again.
func TestWhatInfiniumRefusesIsParked(t *testing.T) {
	t.Parallel()
	to, infinium := newBackend(t), infiniumtest.New(t)
	infinium.Always(infiniumtest.Status(http.StatusUnprocessableEntity, "name: too odd"))
	s := startShipped(t, shippedConfig{[]string{"gateway.yaml", "infinium.yaml"}, map[string]string{
		"BACKEND_ENDPOINT": to.URL, "KEEP_PERCENT": "0",
		"INFINIUM_BASE_URL": infinium.URL(), "INFINIUM_AGENT_ID": infiniumtest.AgentID, "INFINIUM_AGENT_SECRET": infiniumtest.AgentSecret,
	}})
	const runs = 5
	one := recordedSpans(t)[0]
	for n := range runs {
		hand(t, s.listen, again(one, n, 0))
	}
	var files []string
	if !until(t.Context(), patience, func() bool {
		files, _ = filepath.Glob(filepath.Join(s.dir, "*", "infinium-parked", "*.jsonl"))
		return len(files) == runs
	}) {
		t.Fatalf("%d traces are parked, want %d", len(files), runs)
	}
	for n := range runs {
		id := hex.EncodeToString(binary.BigEndian.AppendUint64(make([]byte, 8), uint64(n)+1)) //nolint:gosec // Small.
		if !until(t.Context(), patience, func() bool { log := s.Log(); return strings.Contains(log, id) && strings.Contains(log, "too odd") }) {
			t.Errorf("the log does not name trace %s and why it was refused", id)
		}
	}
	infinium.Always(infiniumtest.Response{})
	before := len(infinium.Traces())
	parked, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post("http://"+s.listen+"/v1/traces", "application/json", strings.NewReader(string(parked))) //nolint:noctx // Of loopback.
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("the gateway answered %s to a parked trace", resp.Status)
	}
	if !until(t.Context(), patience, func() bool { return len(infinium.Traces()) == before+1 }) {
		t.Error("a parked trace that was sent again has not come to Infinium")
	}
}
