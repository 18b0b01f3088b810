package infiniumexporter

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configopaque"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/hookspan/hookspan/infinium"
	"github.com/hookspan/hookspan/internal/testkit/infiniumtest"
)

func traceOf(n uint64) (id pcommon.TraceID) {
	binary.BigEndian.PutUint64(id[8:], n)
	return id
}

func spanOf(n uint64) (id pcommon.SpanID) {
	binary.BigEndian.PutUint64(id[:], n)
	return id
}

// request is one OTLP request under construction.
type request struct {
	ptrace.Traces
	spans ptrace.SpanSlice
}

func newRequest() *request {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", "cline")
	ss := rs.ScopeSpans().AppendEmpty()
	ss.Scope().SetName("test")
	return &request{Traces: td, spans: ss.Spans()}
}

// parts are a request's parts, whose texts are valid.
func parts(td ptrace.Traces) []part {
	out, err := split(td)
	if err != nil {
		panic(err)
	}
	return out
}

// rest is the request that repeats items.
func rest(items []*item) ptrace.Traces {
	td, err := merged(items)
	if err != nil {
		panic(err)
	}
	return td
}

func (r *request) add(trace, id, parent uint64, name string) ptrace.Span {
	s := r.spans.AppendEmpty()
	s.SetTraceID(traceOf(trace))
	s.SetSpanID(spanOf(id))
	if parent != 0 {
		s.SetParentSpanID(spanOf(parent))
	}
	s.SetName(name)
	start := time.Date(2026, 4, 18, 10, 0, 0, int(id), time.UTC)
	s.SetStartTimestamp(pcommon.NewTimestampFromTime(start))
	s.SetEndTimestamp(pcommon.NewTimestampFromTime(start.Add(time.Second)))
	return s
}

func (r *request) root(trace, id uint64) *request {
	s := r.add(trace, id, 0, "invoke_agent cline")
	s.Attributes().PutStr("gen_ai.operation.name", "invoke_agent")
	s.Attributes().PutStr("hookspan.host", "cline")
	s.Attributes().PutStr("hookspan.outcome", "completed")
	return r
}

func (r *request) tool(trace, id, parent uint64) *request {
	s := r.add(trace, id, parent, "execute_tool read_file")
	s.Attributes().PutStr("gen_ai.operation.name", "execute_tool")
	s.Attributes().PutStr("gen_ai.tool.name", "read_file")
	return r
}

// service is Infinium as a transport, so that it works under a fake clock too.
type service struct {
	mu     sync.Mutex
	answer func(n int, trace map[string]any) *http.Response
	seen   []map[string]any
	at     []time.Time
}

func (s *service) RoundTrip(req *http.Request) (*http.Response, error) {
	b, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.seen = append(s.seen, m)
	s.at = append(s.at, time.Now())
	n := len(s.seen)
	s.mu.Unlock()
	var res *http.Response
	if s.answer != nil {
		res = s.answer(n, m)
	}
	if res == nil {
		res = says(http.StatusOK, `{"traceId":"t"}`)
	}
	if res.StatusCode < 0 {
		<-req.Context().Done()
		return nil, req.Context().Err()
	}
	return res, nil
}

func (s *service) traces() []map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]map[string]any(nil), s.seen...)
}

func says(status int, body string, header ...string) *http.Response {
	res := &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewBufferString(body))}
	for i := 0; i+1 < len(header); i += 2 {
		res.Header.Set(header[i], header[i+1])
	}
	return res
}

// hangs never answers.
func hangs() *http.Response { return &http.Response{StatusCode: -1} }

func steps(trace map[string]any) int {
	s, _ := trace["steps"].([]any)
	return len(s)
}

// world is a component with what it logs and counts.
type world struct {
	*tracesExporter
	logs    *observer.ObservedLogs
	metrics *metric.ManualReader
}

func testConfig() *Config {
	c := defaultConfig().(*Config)
	c.AgentID, c.AgentSecret = infiniumtest.AgentID, configopaque.String(infiniumtest.AgentSecret)
	c.RequestsPerSecond = 0
	c.Retry.InitialInterval = time.Millisecond
	c.Retry.MaxInterval = 10 * time.Millisecond
	return c
}

// host is a Collector with extensions.
type host struct {
	component.Host
	extensions map[component.ID]component.Component
}

func (h host) GetExtensions() map[component.ID]component.Component { return h.extensions }

// start gives a running component. With a service, requests go there.
func start(t *testing.T, c *Config, s *service, extensions map[component.ID]component.Component) *world {
	t.Helper()
	w := create(t, c, s)
	if err := w.Start(t.Context(), host{componenttest.NewNopHost(), extensions}); err != nil {
		t.Fatal(err)
	}
	return w
}

func create(t *testing.T, c *Config, s *service) *world {
	t.Helper()
	set, w := settingsOf()
	e, err := NewFactory().CreateTraces(t.Context(), set, c)
	if err != nil {
		t.Fatal(err)
	}
	w.tracesExporter = e.(*tracesExporter)
	if s != nil {
		o := c.options("test")
		o.HTTPClient = &http.Client{Transport: s}
		client, err := infinium.NewClient(o)
		if err != nil {
			t.Fatal(err)
		}
		w.sender.send = client.Send
	}
	return w
}

func settingsOf() (exporter.Settings, *world) {
	set := exportertest.NewNopSettings(component.MustNewType("infinium"))
	core, logs := observer.New(zap.DebugLevel)
	set.Logger = zap.New(core)
	reader := metric.NewManualReader()
	set.MeterProvider = metric.NewMeterProvider(metric.WithReader(reader))
	return set, &world{logs: logs, metrics: reader}
}

func (w *world) stop(t *testing.T) {
	t.Helper()
	if err := w.Shutdown(context.Background()); err != nil {
		t.Errorf("shutdown: %v", err)
	}
}

// count is the sum of a metric's points with the outcome given, or of all.
func (w *world) count(t *testing.T, name, outcome string) (n int64) {
	t.Helper()
	var rm metricdata.ResourceMetrics
	if err := w.metrics.Collect(context.Background(), &rm); err != nil {
		t.Fatal(err)
	}
	for _, sm := range rm.ScopeMetrics {
		for _, m := range sm.Metrics {
			if m.Name != name {
				continue
			}
			points := []metricdata.DataPoint[int64](nil)
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				points = d.DataPoints
			case metricdata.Gauge[int64]:
				points = d.DataPoints
			}
			for _, p := range points {
				if v, _ := p.Attributes.Value("outcome"); outcome == "" || v.AsString() == outcome {
					n += p.Value
				}
			}
		}
	}
	return n
}

// idOf is a trace's id as messages have it.
func idOf(n uint64) string {
	id := traceOf(n)
	return string(id[:])
}
