package otelmap

import (
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/internal/otlp"
)

// WithUsageCost returns spans with KeyUsageCost on the requests whose cost is known. The
// argument is not changed.
func WithUsageCost(m *tracepb.ResourceSpans) *tracepb.ResourceSpans {
	m = proto.CloneOf(m)
	for s := range otlp.Spans([]*tracepb.ResourceSpans{m}) {
		cost, ok := otlp.Find(s.Attributes, KeyCost).GetValue().(*commonpb.AnyValue_DoubleValue)
		if ok && otlp.Text(s.Attributes, KeyOperation) == OpChat && otlp.Find(s.Attributes, KeyUsageCost) == nil {
			s.Attributes = append(s.Attributes, otlp.Float(KeyUsageCost, cost.DoubleValue))
		}
	}
	return m
}
