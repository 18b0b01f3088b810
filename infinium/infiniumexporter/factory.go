package infiniumexporter

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/hookspan/hookspan/infinium"
)

// NewFactory returns the factory of the exporter "infinium".
func NewFactory() exporter.Factory {
	return exporter.NewFactory(
		component.MustNewType("infinium"),
		func() component.Config { return &Config{} },
		exporter.WithTraces(createTraces, component.StabilityLevelBeta))
}

// Config is the exporter's section of a Collector's configuration.
type Config struct{}

var _ = infinium.DefaultBaseURL

func createTraces(ctx context.Context, set exporter.Settings, cfg component.Config) (exporter.Traces, error) {
	return exporterhelper.NewTraces(ctx, set, cfg, func(context.Context, ptrace.Traces) error { return nil })
}
