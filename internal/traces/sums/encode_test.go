package sums

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	colmetricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap/instruments"
)

// read decodes a request with the library.
func read(t *testing.T, request []byte) []*metricspb.ResourceMetrics {
	t.Helper()
	var r colmetricspb.ExportMetricsServiceRequest
	if err := proto.Unmarshal(request, &r); err != nil {
		t.Fatal(err)
	}
	return r.ResourceMetrics
}

func TestRequestIsWhatTheLibraryReads(t *testing.T) {
	since, at := time.Unix(1, 0), time.Unix(2, 3)
	from, to := otlp.UnixNano(since), otlp.UnixNano(at)
	calls, tokens, cost := &instruments.Table[instruments.Calls], &instruments.Table[instruments.TokenUsage], &instruments.Table[instruments.Cost]
	observed := make([]int64, width(tokens))
	observed[0], observed[1], observed[15] = 300, 2, 1
	points := []Point{
		{Series: Series{"a", calls.Name, `["k","\u65e5","l",""]`}, Total: []int64{3}, Acknowledged: []int64{1}},
		{Series: Series{"a", calls.Name, `[]`}},
		{Series: Series{"a", tokens.Name, `["k","v"]`}, Total: observed, Acknowledged: []int64{100, 1}},
		{Series: Series{"b", tokens.Name, `[]`}, Total: []int64{0, 1}},
		{Series: Series{"b", cost.Name, `[]`}, Total: []int64{1_500_000_000}},
	}
	for _, delta := range []bool{false, true} {
		less := func(total, acknowledged float64) float64 {
			if delta {
				return total - acknowledged
			}
			return total
		}
		temporality := metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE
		if delta {
			temporality = metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA
		}
		metric := func(i *instruments.Instrument) *metricspb.Metric {
			return &metricspb.Metric{Name: i.Name, Description: i.Description, Unit: i.Unit}
		}
		sum := func(i *instruments.Instrument, points ...*metricspb.NumberDataPoint) *metricspb.Metric {
			m := metric(i)
			m.Data = &metricspb.Metric_Sum{Sum: &metricspb.Sum{DataPoints: points, AggregationTemporality: temporality, IsMonotonic: true}}
			return m
		}
		number := func(value float64, attributes ...*commonpb.KeyValue) *metricspb.NumberDataPoint {
			return &metricspb.NumberDataPoint{
				StartTimeUnixNano: from, TimeUnixNano: to, Value: &metricspb.NumberDataPoint_AsDouble{AsDouble: value}, Attributes: attributes,
			}
		}
		histogram := func(sum float64, first, last uint64, attributes ...*commonpb.KeyValue) *metricspb.Metric {
			m, buckets := metric(tokens), make([]uint64, len(tokens.Bounds)+1)
			buckets[0], buckets[len(tokens.Bounds)] = first, last
			m.Data = &metricspb.Metric_Histogram{Histogram: &metricspb.Histogram{AggregationTemporality: temporality, DataPoints: []*metricspb.HistogramDataPoint{{
				StartTimeUnixNano: from, TimeUnixNano: to, Count: first + last, Sum: &sum, BucketCounts: buckets, ExplicitBounds: tokens.Bounds, Attributes: attributes,
			}}}}
			return m
		}
		service := func(name string, metrics ...*metricspb.Metric) *metricspb.ResourceMetrics {
			return &metricspb.ResourceMetrics{
				Resource: &resourcepb.Resource{Attributes: []*commonpb.KeyValue{
					otlp.String("service.name", name), otlp.String("service.instance.id", "id"), otlp.String("team", "x"),
				}},
				ScopeMetrics: []*metricspb.ScopeMetrics{{Scope: &commonpb.InstrumentationScope{Name: "github.com/hookspan/hookspan"}, Metrics: metrics}},
			}
		}
		f := Form{Instance: "id", Resource: []string{"team", "x\xff"}, Delta: delta, Since: since, At: at}
		want := []*metricspb.ResourceMetrics{
			service("a", sum(calls, number(less(3, 1), otlp.String("k", "日"), otlp.String("l", "")), number(0)),
				histogram(less(300, 100), uint64(less(2, 1)), 1, otlp.String("k", "v"))),
			service("b", histogram(0, 1, 0), sum(cost, number(1.5))),
		}
		if diff := cmp.Diff(want, read(t, f.Encode(points)), protocmp.Transform()); diff != "" {
			t.Errorf("delta %t: -want +got:\n%s", delta, diff)
		}
	}
}

func TestTestIsAGauge(t *testing.T) {
	m := read(t, Test(time.Unix(2, 3)))[0].GetScopeMetrics()[0].GetMetrics()[0]
	if p := m.GetGauge().GetDataPoints(); m.GetName() != instruments.Test || len(p) != 1 || p[0].GetAsInt() != 1 || p[0].GetTimeUnixNano() != 2_000_000_003 {
		t.Errorf("%v", m)
	}
}
