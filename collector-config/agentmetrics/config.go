package agentmetrics

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/collector/consumer"
)

// Config are the settings of agent_metrics.
type Config struct {
	// Gateway is the label gateway of each series. No two Collectors may share it.
	Gateway string `mapstructure:"gateway"`
	// Labels are attributes that become labels of each series, separated by commas,
	// such as "team.id,vcs.repository.name". Each is taken from the resource, else
	// from the span, else from the root of its trace.
	Labels string `mapstructure:"labels"`
	// LabelLimit is how many combinations of values Labels may have, by default 1000.
	// Further combinations share the value "other".
	LabelLimit int `mapstructure:"label_limit"`
	// SeriesLimit is how many series there may be, by default 20000. Further ones share
	// one for each metric, with the label otel.metric.overflow.
	SeriesLimit int `mapstructure:"series_limit"`
	// Interval is the time between two reports, by default 15 seconds.
	Interval time.Duration `mapstructure:"interval"`
	// Expiration is when a series to which nothing is added is forgotten, by default 168
	// hours.
	Expiration time.Duration `mapstructure:"expiration"`
	// Storage is the extension that keeps totals across restarts, if any.
	Storage *component.ID `mapstructure:"storage"`
}

// maxLabels bounds Labels: each multiplies the number of series.
const maxLabels = 8

// labels returns the keys that Labels names.
func (c *Config) labels() []string {
	return strings.FieldsFunc(c.Labels, func(r rune) bool { return r == ',' || r == ' ' })
}

// Validate reports settings that cannot work.
func (c *Config) Validate() error {
	keys := c.labels()
	var errs []error
	for i, k := range keys {
		same := func(other string) bool { return asPrometheus(other) == asPrometheus(k) }
		if slices.ContainsFunc(keys[:i], same) {
			errs = append(errs, fmt.Errorf("labels: %q is there twice", k))
		}
		if slices.ContainsFunc(ownLabels, same) {
			errs = append(errs, fmt.Errorf("labels: %q is a label already", k))
		}
	}
	if len(keys) > maxLabels {
		errs = append(errs, fmt.Errorf("labels: %d attributes; at most %d are allowed", len(keys), maxLabels))
	}
	if c.LabelLimit <= 0 || c.SeriesLimit <= 0 || c.Interval <= 0 || c.Expiration <= 0 {
		errs = append(errs, errors.New("label_limit, series_limit, interval and expiration must be above zero"))
	}
	return errors.Join(errs...)
}

// asPrometheus is how Prometheus spells a label.
func asPrometheus(key string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, key)
}

// Type is the name of the connector in configurations.
var Type = component.MustNewType("agent_metrics")

// NewFactory returns the factory of the connector.
func NewFactory() connector.Factory {
	return connector.NewFactory(Type,
		func() component.Config {
			return &Config{LabelLimit: 1000, SeriesLimit: 20000, Interval: 15 * time.Second, Expiration: 168 * time.Hour}
		},
		connector.WithTracesToMetrics(func(_ context.Context, set connector.Settings, cfg component.Config, next consumer.Metrics) (connector.Traces, error) {
			return newCounter(set, cfg.(*Config), next), nil
		}, component.StabilityLevelBeta))
}
