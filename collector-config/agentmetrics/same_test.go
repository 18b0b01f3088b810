package agentmetrics

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/testkit/recorded"
	"github.com/hookspan/hookspan/internal/traces/sums"
	"github.com/hookspan/hookspan/otelmap/instruments"
)

// total is a series without what differs between both sources.
type total struct {
	sum     float64
	buckets []uint64
}

// TestTheMachineCountsAsTheCollector holds what hookspan itself counts of the recorded sessions
// against what the connector does: each series, its sum and its buckets.
func TestTheMachineCountsAsTheCollector(t *testing.T) {
	sessions := recorded.Spans(t)
	// Not as hookspan makes them.
	odd := proto.CloneOf(sessions[0])
	for i, s := range odd.GetScopeSpans()[0].GetSpans() {
		s.TraceId[0] ^= 0xff
		s.Attributes = append(s.Attributes, otlp.Bool("error.type", true), otlp.Float("gen_ai.request.model", float64(i)))
		s.EndTimeUnixNano = []uint64{0, 1, s.StartTimeUnixNano}[i%3]
	}
	odd.Resource = nil
	sessions = append(sessions, odd)
	// A run has a repository, and of some of its requests and calls another one.
	roots := make([]*tracepb.Span, len(sessions))
	for i, one := range sessions {
		for s := range otlp.Spans([]*tracepb.ResourceSpans{one}) {
			if len(s.ParentSpanId) == 0 {
				roots[i] = s
				s.Attributes = otlp.Set(s.Attributes, otlp.String(instruments.Repository, "shop"))
			} else if s.SpanId[0]%4 == 0 {
				s.Attributes = otlp.Set(s.Attributes, otlp.String(instruments.Repository, "library"))
			}
		}
	}

	r := start(t, nil, func(c *Config) { c.Labels = instruments.Repository })
	counts := make(sums.Counts)
	for i, one := range sessions {
		b, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{one}})
		if err != nil {
			t.Fatal(err)
		}
		td, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(b)
		if err != nil {
			t.Fatal(err)
		}
		r.take(td)
		for s := range otlp.Spans([]*tracepb.ResourceSpans{one}) {
			if sums.Counted(s) {
				counts.Add(sums.Service(one), s, sums.Repository(one, s, roots[i])...)
			}
		}
	}
	if err := r.Shutdown(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	all := r.sink.AllMetrics()
	b, err := (&pmetric.ProtoMarshaler{}).MarshalMetrics(all[len(all)-1])
	if err != nil {
		t.Fatal(err)
	}
	var theirs metricspb.MetricsData
	if err := proto.Unmarshal(b, &theirs); err != nil {
		t.Fatal(err)
	}
	var points []sums.Point
	for s, n := range counts {
		points = append(points, sums.Point{Series: s, Total: n})
	}
	slices.SortFunc(points, func(x, y sums.Point) int {
		return slices.Compare([]string{x.Series.Service, x.Series.Instrument}, []string{y.Series.Service, y.Series.Instrument})
	})
	form := sums.Form{Since: time.Unix(1, 0), At: time.Unix(2, 0)}
	var ours metricspb.MetricsData // which has the form of a request
	if err := proto.Unmarshal(form.Encode(points), &ours); err != nil {
		t.Fatal(err)
	}
	got, want := seriesOf(ours.ResourceMetrics), seriesOf(theirs.ResourceMetrics)
	if len(want) < 100 {
		t.Fatalf("only %d series", len(want))
	}
	for _, k := range slices.Sorted(maps.Keys(want)) {
		w, g := want[k], got[k]
		if math.Abs(w.sum-g.sum) > 1e-6 || !slices.Equal(w.buckets, g.buckets) {
			t.Errorf("%s\n is %v,\nwant %v", k, g, w)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d series, the connector has %d", len(got), len(want))
	}
	seen := make(map[string]bool)
	for s := range counts {
		seen[s.Instrument] = true
	}
	for i, m := range instruments.Table {
		if !seen[m.Name] && i != instruments.ImportedSpans && i != instruments.RepeatedSpans {
			t.Errorf("no session counts in %s", m.Name)
		}
	}
}

func seriesOf(all []*metricspb.ResourceMetrics) map[string]total {
	out := make(map[string]total)
	for _, rm := range all {
		service := otlp.Text(rm.GetResource().GetAttributes(), "service.name")
		for _, m := range rm.GetScopeMetrics()[0].GetMetrics() {
			about := fmt.Sprint(service, " ", m.GetName(), " ", m.GetUnit(), " ", m.GetDescription())
			if m.GetSum() != nil {
				about += fmt.Sprint(" ", m.GetSum().GetIsMonotonic(), m.GetSum().GetAggregationTemporality())
			}
			for _, p := range m.GetSum().GetDataPoints() {
				out[about+labels(p)] = total{sum: p.GetAsDouble()}
			}
			for _, p := range m.GetHistogram().GetDataPoints() {
				out[about+fmt.Sprint(p.GetExplicitBounds(), p.GetCount())+labels(p)] = total{p.GetSum(), p.GetBucketCounts()}
			}
		}
	}
	return out
}

// labels are those that both sources have.
func labels(p interface{ GetAttributes() []*commonpb.KeyValue }) string {
	out := make(map[string]string)
	for _, kv := range p.GetAttributes() {
		if kv.GetKey() != "gateway" && kv.GetKey() != "service.name" && kv.GetValue().GetStringValue() != "" {
			out[kv.GetKey()] = kv.GetValue().GetStringValue()
		}
	}
	b, _ := json.Marshal(out)
	return string(b)
}
