package infiniumexporter

import (
	"context"
	"errors"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

const scopeName = "github.com/hookspan/hookspan/infinium/infiniumexporter"

// telemetry is the component's own metrics.
type telemetry struct {
	exporter metric.MeasurementOption
	name     attribute.KeyValue
	traces   metric.Int64Counter
	refused  metric.Int64Counter
	repeats  metric.Int64Counter
	waiting  metric.Registration
}

func newTelemetry(set component.TelemetrySettings, id component.ID, waiting func() int64) (*telemetry, error) {
	m := set.MeterProvider.Meter(scopeName)
	t := &telemetry{name: attribute.String("exporter", id.String())}
	t.exporter = metric.WithAttributes(t.name)
	var errs [4]error
	t.traces, errs[0] = m.Int64Counter("otelcol_exporter_infinium_traces", metric.WithUnit("{traces}"),
		metric.WithDescription("Traces by outcome: accepted, failed (tried again), parked, dropped, empty (late spans, none of which Infinium shows)."))
	t.refused, errs[1] = m.Int64Counter("otelcol_exporter_infinium_refused_spans", metric.WithUnit("{spans}"),
		metric.WithDescription("Spans of traces that Infinium refuses as they are, by outcome: parked, dropped."))
	t.repeats, errs[2] = m.Int64Counter("otelcol_exporter_infinium_repeated_spans", metric.WithUnit("{spans}"),
		metric.WithDescription("Spans received again after Infinium had accepted them; they are not sent twice."))
	gauge, err := m.Int64ObservableGauge("otelcol_exporter_infinium_waiting_traces", metric.WithUnit("{traces}"),
		metric.WithDescription("Traces that wait for more spans, for an answer, or to be tried again."))
	if err != nil {
		return nil, errors.Join(append(errs[:], err)...)
	}
	t.waiting, errs[3] = m.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		o.ObserveInt64(gauge, waiting(), t.exporter)
		return nil
	}, gauge)
	return t, errors.Join(errs[:]...)
}

func (t *telemetry) trace(ctx context.Context, outcome string, run *run) {
	out := attribute.String("outcome", outcome)
	t.traces.Add(ctx, 1, metric.WithAttributes(t.name, out, attribute.Bool("late", run.Root() == nil)))
	if outcome == "parked" || outcome == "dropped" {
		t.refused.Add(ctx, int64(len(run.items)), metric.WithAttributes(t.name, out))
	}
}

func (t *telemetry) repeated(spans int) {
	t.repeats.Add(context.Background(), int64(spans), t.exporter)
}
