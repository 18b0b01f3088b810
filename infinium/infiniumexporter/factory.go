package infiniumexporter

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
)

// NewFactory returns the factory of the exporter "infinium".
func NewFactory() exporter.Factory {
	return exporter.NewFactory(
		component.MustNewType("infinium"), defaultConfig,
		exporter.WithTraces(createTraces, component.StabilityLevelBeta))
}

func createTraces(ctx context.Context, set exporter.Settings, cfg component.Config) (exporter.Traces, error) {
	e, err := newExporter(set, cfg.(*Config))
	if err != nil {
		return nil, err
	}
	c := e.config
	e.Traces, err = exporterhelper.NewTraces(ctx, set, cfg, e.push,
		exporterhelper.WithStart(e.start),
		// A push waits for its traces; the time limit is each request's.
		exporterhelper.WithTimeout(exporterhelper.TimeoutConfig{}),
		exporterhelper.WithRetry(c.Retry),
		exporterhelper.WithQueue(c.Queue))
	if err != nil {
		return nil, err
	}
	return e, nil
}
