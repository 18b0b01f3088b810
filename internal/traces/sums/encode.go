package sums

import (
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap/instruments"
)

// Point is a series with what was counted, and what of it a destination has acknowledged.
type Point struct {
	Series Series
	// ID is that of the store.
	ID                  int64
	Total, Acknowledged []int64
}

// Grown reports whether something is not acknowledged.
func (p *Point) Grown() bool {
	for i := range p.Total {
		if p.Total[i] > At(p.Acknowledged, i) {
			return true
		}
	}
	return false
}

// Form is how points are sent.
type Form struct {
	// Instance identifies the store, Resource are further attributes besides the service's name.
	Instance string
	Resource []*commonpb.KeyValue
	// Delta sends what is not acknowledged, and leaves out what has not grown. Otherwise the totals are sent.
	Delta bool
	// Since and At begin and end the time in which it was added.
	Since, At time.Time
}

// Encode returns points as OTLP has them, a message for each service. They are in the order of
// the services and the instruments.
func (f *Form) Encode(points []Point) (out []*metricspb.ResourceMetrics) {
	var metrics *metricspb.ScopeMetrics
	for i := range points {
		p := &points[i]
		if i == 0 || p.Series.Service != points[i-1].Series.Service {
			metrics = &metricspb.ScopeMetrics{Scope: &commonpb.InstrumentationScope{Name: "github.com/hookspan/hookspan"}}
			out = append(out, &metricspb.ResourceMetrics{
				Resource: &resourcepb.Resource{Attributes: append([]*commonpb.KeyValue{
					otlp.String(instruments.Service, p.Series.Service), otlp.String(instruments.Instance, f.Instance),
				}, f.Resource...)},
				ScopeMetrics: []*metricspb.ScopeMetrics{metrics},
			})
		}
		n := len(metrics.Metrics)
		if n == 0 || metrics.Metrics[n-1].Name != p.Series.Instrument {
			metrics.Metrics = append(metrics.Metrics, f.metric(instruments.Named(p.Series.Instrument)))
			n++
		}
		f.add(metrics.Metrics[n-1], p)
	}
	return out
}

// metric returns a metric without points.
func (f *Form) metric(i *instruments.Instrument) *metricspb.Metric {
	m := &metricspb.Metric{Name: i.Name, Description: i.Description, Unit: i.Unit}
	temporality := metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE
	if f.Delta {
		temporality = metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA
	}
	if i.Bounds != nil {
		m.Data = &metricspb.Metric_Histogram{Histogram: &metricspb.Histogram{AggregationTemporality: temporality}}
		return m
	}
	m.Data = &metricspb.Metric_Sum{Sum: &metricspb.Sum{AggregationTemporality: temporality, IsMonotonic: true}}
	return m
}

// add adds a point to its metric.
func (f *Form) add(m *metricspb.Metric, p *Point) {
	i := instruments.Named(p.Series.Instrument)
	n := make([]int64, max(1, len(p.Total)))
	for at := range p.Total {
		n[at] = p.Total[at]
		if f.Delta {
			n[at] -= At(p.Acknowledged, at)
		}
	}
	var attributes []*commonpb.KeyValue
	pairs := p.Series.pairs()
	for k := 0; k+1 < len(pairs); k += 2 {
		attributes = append(attributes, otlp.String(pairs[k], pairs[k+1]))
	}
	since, now, sum := otlp.UnixNano(f.Since), otlp.UnixNano(f.At), float64(n[0])/scale(i)
	if i.Bounds == nil {
		s := m.GetSum()
		s.DataPoints = append(s.DataPoints, &metricspb.NumberDataPoint{
			Attributes: attributes, StartTimeUnixNano: since, TimeUnixNano: now, Value: &metricspb.NumberDataPoint_AsDouble{AsDouble: sum},
		})
		return
	}
	buckets := make([]uint64, len(i.Bounds)+1)
	for at := range buckets {
		buckets[at] = uint64(At(n, 1+at)) //nolint:gosec // Not negative.
	}
	h := m.GetHistogram()
	h.DataPoints = append(h.DataPoints, &metricspb.HistogramDataPoint{
		Attributes: attributes, StartTimeUnixNano: since, TimeUnixNano: now, Sum: &sum,
		Count: uint64(Observations(n)), BucketCounts: buckets, ExplicitBounds: i.Bounds, //nolint:gosec // Not negative.
	})
}

// Test returns a metric that tries an endpoint: the gauge hookspan.test, which is 1.
func Test(at time.Time) []*metricspb.ResourceMetrics {
	point := &metricspb.NumberDataPoint{TimeUnixNano: otlp.UnixNano(at), Value: &metricspb.NumberDataPoint_AsInt{AsInt: 1}}
	return []*metricspb.ResourceMetrics{{
		Resource: &resourcepb.Resource{Attributes: []*commonpb.KeyValue{otlp.String(instruments.Service, "hookspan")}},
		ScopeMetrics: []*metricspb.ScopeMetrics{{Metrics: []*metricspb.Metric{{
			Name: instruments.Test, Description: "A test of the endpoint", Data: &metricspb.Metric_Gauge{Gauge: &metricspb.Gauge{DataPoints: []*metricspb.NumberDataPoint{point}}},
		}}}},
	}}
}
