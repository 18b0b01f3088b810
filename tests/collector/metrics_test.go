package collector_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/tests/internal/otelcol"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

var metricsRows = []proof.Row{{
	Name:  "32 senders at full speed, two gateways",
	Rule:  metricsRule,
	Short: 300, Long: 10000,
	Run: func(t *testing.T, r *proof.Result) {
		for left := r.N; left > 0; left -= 2000 {
			metricsUnderLoad(t, r, min(left, 2000), nil)
		}
	},
}, {
	Name:  "one of two gateways is down while 32 senders repeat requests with traces of both",
	Rule:  metricsRule,
	Short: 150, Long: 2000,
	Run: func(t *testing.T, r *proof.Result) {
		metricsUnderLoad(t, r, r.N, func(m *measured) {
			m.end(1, (*otelcol.Collector).Kill)
			m.refusals(40)
			m.again(1)
		})
	},
}, {
	Name:  "SIGTERM and SIGKILL of the gateways under load, and their restart",
	Rule:  metricsRule,
	Short: 300, Long: 4000,
	Run: func(t *testing.T, r *proof.Result) {
		rounds := max(1, r.N/300)
		metricsUnderLoad(t, r, r.N, func(m *measured) {
			for n := range rounds {
				m.end(n%2, (*otelcol.Collector).Kill)
				m.refusals(20)
				m.again(n % 2)
				m.end((n+1)%2, func(c *otelcol.Collector) error { return c.Stop(m.t.Context()) })
				m.refusals(20)
				m.again((n + 1) % 2)
			}
		})
	},
}}

const metricsRule = "the gateways' metrics equal the traces: runs, calls, tokens and cost"

// measured are gateways and what was sent to them.
type measured struct {
	t        *testing.T
	gateways []*otelcol.Collector
	listens  []string
	metrics  []string
	// refused counts requests that were not taken, sent those that were.
	refused, sent atomic.Int64
}

func newMeasured(t *testing.T) *measured {
	t.Helper()
	binary, err := collector()
	if err != nil {
		t.Fatal(err)
	}
	port, to := addresses(t), newBackend(t)
	m := &measured{t: t}
	peers := []string{port(), port()}
	for i := range peers {
		dir, health, listen, metrics := t.TempDir(), port(), port(), port()
		c, err := otelcol.Start(t.Context(), otelcol.Options{
			Binary: binary, Dir: dir, Configs: []string{shipped(t, "gateway.yaml"), flushOften, withoutOwnMetrics},
			Env: []string{
				"GATEWAY_NAME=" + fmt.Sprint(i), "GATEWAY_HEALTH=" + health, "GATEWAY_LISTEN=" + listen, "GATEWAY_PEER_LISTEN=" + peers[i],
				"GATEWAY_PEERS=[" + strings.Join(peers, ",") + "]", "GATEWAY_METRICS=" + metrics,
				"BACKEND_ENDPOINT=" + to.URL, "QUEUE_DIRECTORY=" + filepath.Join(dir, "queue"),
			},
			Ready: []string{"http://" + health, listen, peers[i]},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := c.Kill(); err != nil {
				t.Error(err)
			}
			if t.Failed() {
				t.Logf("gateway %d:\n%s", i, end(complaints(c.Log())))
			}
		})
		m.gateways, m.listens, m.metrics = append(m.gateways, c), append(m.listens, listen), append(m.metrics, metrics)
	}
	return m
}

func (m *measured) end(n int, how func(*otelcol.Collector) error) {
	if err := how(m.gateways[n]); err != nil {
		m.t.Error(err)
	}
}

func (m *measured) again(n int) {
	if err := m.gateways[n].Restart(m.t.Context()); err != nil {
		m.t.Error(err)
	}
}

// refusals waits until as many more requests were refused, or all were sent.
func (m *measured) refusals(n int64) {
	before := m.refused.Load()
	until(m.t.Context(), 20*time.Second, func() bool { return m.refused.Load() >= before+n })
}

// metricsUnderLoad sends traces from 32 senders in requests that mix them, while
// something happens to the gateways, and holds the metrics against the traces.
func metricsUnderLoad(t *testing.T, r *proof.Result, traces int, meanwhile func(*measured)) {
	t.Helper()
	m := newMeasured(t)
	const senders, mixed = 32, 5
	want := map[string]float64{}
	work := make(chan [][]byte, traces)
	rnd := rand.New(rand.NewPCG(uint64(traces), 1)) //nolint:gosec // No secret hangs on it.
	for n := 0; n < traces; n += mixed {
		work <- mixedTraces(t, rnd, n, min(mixed, traces-n), want)
	}
	close(work)
	var wg sync.WaitGroup
	for i := range senders {
		wg.Go(func() {
			for requests := range work {
				for _, body := range requests {
					m.deliver(i, body)
				}
			}
		})
	}
	if meanwhile != nil {
		until(t.Context(), patience, func() bool { return m.sent.Load() >= senders })
		meanwhile(m)
	}
	wg.Wait()
	got := map[string]float64{}
	if !until(t.Context(), 30*time.Second, func() bool { got = m.totals(); return sameTotals(got, want) }) {
		r.Break("metrics %v, traces %v: %s", got, want, deviations(got, want))
	}
	r.Trial(traces)
	r.Note("%d requests, %d more were refused and repeated; spans that came again: %.0f %%, largest difference of a metric: %s",
		m.sent.Load(), m.refused.Load(), 100*got["repeated"]/want["calls"], deviations(got, want))
}

// deliver sends a request until it is taken, to one gateway after another.
func (m *measured) deliver(sender int, body []byte) {
	for try := 0; m.t.Context().Err() == nil; try++ {
		req, err := http.NewRequestWithContext(m.t.Context(), http.MethodPost, "http://"+m.listens[(sender+try)%2]+"/v1/traces", strings.NewReader(string(body)))
		if err != nil {
			return
		}
		req.Header.Set("Content-Type", "application/x-protobuf")
		resp, err := http.DefaultClient.Do(req) //nolint:gosec // An address of loopback.
		if err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				m.sent.Add(1)
				return
			}
		}
		m.refused.Add(1)
		// Not to be done with all tries before a gateway is back.
		until(m.t.Context(), 20*time.Millisecond, func() bool { return false })
	}
}

// totals are what both gateways show.
func (m *measured) totals() map[string]float64 {
	got := map[string]float64{}
	for _, address := range m.metrics {
		for _, s := range scrape(m.t, address) {
			switch {
			case s.name == "agent_calls_total" && s.labels["hookspan_outcome"] != "":
				got["runs"] += s.value
			case s.name == "agent_calls_total":
				got["calls"] += s.value
			case s.name == "hookspan_repeated_spans_total":
				got["repeated"] += s.value
			case s.name == "hookspan_run_tokens_total":
				got["tokens"] += s.value
			case s.name == "hookspan_run_cost_usd_total":
				got["cost"] += s.value
			case s.name == "gen_ai_client_token_usage_sum":
				got["request tokens"] += s.value
			}
		}
	}
	return got
}

func sameTotals(got, want map[string]float64) bool {
	for k, w := range want {
		if math.Abs(got[k]-w) > w*1e-9 {
			return false
		}
	}
	return true
}

// deviations are by how much got differs from want, in percent.
func deviations(got, want map[string]float64) string {
	var worst float64
	for k, w := range want {
		if d := 100 * (got[k] - w) / w; math.Abs(d) > math.Abs(worst) {
			worst = d
		}
	}
	return fmt.Sprintf("%.2f %%", math.Round(worst*100)/100+0)
}

func intAttribute(key string, v int64) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: v}}}
}

func textAttribute(key, v string) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: v}}}
}

func floatAttribute(key string, v float64) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_DoubleValue{DoubleValue: v}}}
}

// mixedTraces are two requests with parts of the same traces: first the roots, as
// hookspan sends them. What they say is added to want.
func mixedTraces(t *testing.T, rnd *rand.Rand, first, n int, want map[string]float64) [][]byte {
	t.Helper()
	var roots, others []*tracepb.Span
	for i := first; i < first+n; i++ {
		var trace [16]byte
		binary.BigEndian.PutUint64(trace[:], rnd.Uint64())
		binary.BigEndian.PutUint64(trace[8:], uint64(i)+1) //nolint:gosec // Small.
		spans, in, out, cost := 0, int64(0), int64(0), 0.0
		span := func(operation string, attributes ...*commonpb.KeyValue) *tracepb.Span {
			spans++
			return &tracepb.Span{
				TraceId: trace[:], SpanId: binary.BigEndian.AppendUint64(nil, uint64(spans)), Name: operation, //nolint:gosec // Small.
				StartTimeUnixNano: uint64(1e18), EndTimeUnixNano: uint64(1e18 + rnd.Int64N(1e12)), //nolint:gosec // Times.
				Attributes: append(attributes, textAttribute("gen_ai.operation.name", operation)),
			}
		}
		for range 1 + rnd.IntN(6) {
			a, b, c := rnd.Int64N(100000), rnd.Int64N(5000), rnd.Float64()
			in, out, cost = in+a, out+b, cost+c
			others = append(others, span("chat", textAttribute("gen_ai.request.model", fmt.Sprintf("model-%d", rnd.IntN(3))),
				intAttribute("gen_ai.usage.input_tokens", a), intAttribute("gen_ai.usage.output_tokens", b), floatAttribute("hookspan.cost.usd", c)))
		}
		for range rnd.IntN(8) {
			others = append(others, span("execute_tool", textAttribute("gen_ai.tool.name", fmt.Sprintf("tool-%d", rnd.IntN(5)))))
		}
		want["calls"] += float64(spans)
		want["runs"]++
		want["tokens"] += float64(in + out)
		want["request tokens"] += float64(in + out)
		want["cost"] += cost
		roots = append(roots, span("invoke_agent", textAttribute("hookspan.outcome", "completed"),
			intAttribute("hookspan.usage.input_tokens", in), intAttribute("hookspan.usage.output_tokens", out), floatAttribute("hookspan.cost.usd", cost)))
	}
	var bodies [][]byte
	for _, spans := range [][]*tracepb.Span{roots, others} {
		b, err := proto.Marshal(&collectorpb.ExportTraceServiceRequest{ResourceSpans: []*tracepb.ResourceSpans{{
			Resource:   &resourcepb.Resource{Attributes: []*commonpb.KeyValue{textAttribute("service.name", "cline")}},
			ScopeSpans: []*tracepb.ScopeSpans{{Spans: spans}},
		}}})
		if err != nil {
			t.Fatal(err)
		}
		bodies = append(bodies, b)
	}
	return bodies
}
