package sums

import (
	"math"
	"strings"
	"time"

	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/encoding/protowire"

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
	// Instance identifies the store, Resource are further attributes besides the service's name, keys
	// and values in turn.
	Instance string
	Resource []string
	// Delta sends what is not acknowledged, and leaves out what has not grown. Otherwise the totals are sent.
	Delta bool
	// Since and At begin and end the time in which it was added.
	Since, At time.Time
}

// Encode returns points as a request of OTLP in protobuf, with a message for each service. They are in
// the order of the services and the instruments. It writes the wire format itself: the library first
// reads the description of each type, which takes a delivery longer than all else of a report.
func (f *Form) Encode(points []Point) (request []byte) {
	for len(points) > 0 {
		service := points[0].Series.Service
		scope := text(nil, 1, text(nil, 1, "github.com/hookspan/hookspan"))
		for len(points) > 0 && points[0].Series.Service == service {
			i := instruments.Named(points[0].Series.Instrument)
			var data []byte
			for len(points) > 0 && points[0].Series.Service == service && points[0].Series.Instrument == i.Name {
				data = text(data, 1, f.point(i, &points[0]))
				points = points[1:]
			}
			scope = text(scope, 2, f.metric(i, data))
		}
		resource := attributes(nil, 1, append([]string{instruments.Service, service, instruments.Instance, f.Instance}, f.Resource...))
		request = text(request, 1, text(text(nil, 1, resource), 2, scope))
	}
	return request
}

// metric encodes an instrument with its points.
func (f *Form) metric(i *instruments.Instrument, data []byte) []byte {
	temporality := metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE
	if f.Delta {
		temporality = metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA
	}
	m := text(text(text(nil, 1, i.Name), 2, i.Description), 3, i.Unit)
	data = varint(data, 2, uint64(temporality)) //nolint:gosec // Not negative.
	if i.Bounds != nil {
		return text(m, 9, data)
	}
	return text(m, 7, varint(data, 3, 1)) // monotonic
}

// point encodes a point of an instrument.
func (f *Form) point(i *instruments.Instrument, p *Point) []byte {
	n := make([]int64, max(1, len(p.Total)))
	for at := range p.Total {
		n[at] = p.Total[at]
		if f.Delta {
			n[at] -= At(p.Acknowledged, at)
		}
	}
	b := fixed(fixed(make([]byte, 0, 1<<10), 2, otlp.UnixNano(f.Since)), 3, otlp.UnixNano(f.At))
	sum := math.Float64bits(float64(n[0]) / scale(i))
	if i.Bounds == nil {
		return attributes(fixed(b, 4, sum), 7, p.Series.pairs())
	}
	buckets, bounds := make([]byte, 0, 8*(len(i.Bounds)+1)), make([]byte, 0, 8*len(i.Bounds))
	for at := range len(i.Bounds) + 1 {
		buckets = protowire.AppendFixed64(buckets, uint64(At(n, 1+at))) //nolint:gosec // Not negative.
	}
	for _, bound := range i.Bounds {
		bounds = protowire.AppendFixed64(bounds, math.Float64bits(bound))
	}
	b = fixed(fixed(b, 4, uint64(Observations(n))), 5, sum) //nolint:gosec // Not negative.
	return attributes(text(text(b, 6, buckets), 7, bounds), 9, p.Series.pairs())
}

// Test returns a request with a metric that tries an endpoint: the gauge hookspan.test, which is 1.
func Test(at time.Time) []byte {
	gauge := text(nil, 1, fixed(fixed(nil, 3, otlp.UnixNano(at)), 6, 1))
	metric := text(text(text(nil, 1, instruments.Test), 2, "A test of the endpoint"), 5, gauge)
	resource := attributes(nil, 1, []string{instruments.Service, "hookspan"})
	return text(nil, 1, text(text(nil, 1, resource), 2, text(nil, 2, metric)))
}

// attributes appends keys and values, each pair as a field.
func attributes(b []byte, field protowire.Number, pairs []string) []byte {
	for k := 0; k+1 < len(pairs); k += 2 {
		value := text(nil, 1, strings.ToValidUTF8(pairs[k+1], ""))
		b = text(b, field, text(text(nil, 1, strings.ToValidUTF8(pairs[k], "")), 2, value))
	}
	return b
}

// text appends a field of a text, of an encoded message or of packed numbers.
func text[T string | []byte](b []byte, field protowire.Number, value T) []byte {
	b = protowire.AppendVarint(protowire.AppendTag(b, field, protowire.BytesType), uint64(len(value)))
	return append(b, value...)
}

// fixed appends a field of 64 bits.
func fixed(b []byte, field protowire.Number, value uint64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(b, field, protowire.Fixed64Type), value)
}

// varint appends a field of a number of any size.
func varint(b []byte, field protowire.Number, value uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), value)
}
