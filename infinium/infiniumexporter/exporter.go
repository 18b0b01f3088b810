package infiniumexporter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/hookspan/hookspan/infinium"
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

// tracesExporter is the component: the Collector's queue and retries, which call
// the gatherer, which calls the sender.
type tracesExporter struct {
	// Traces is the exporter helper's part, which calls push.
	exporter.Traces

	config   *Config
	set      exporter.Settings
	gatherer *gatherer
	sender   *sender
	client   *infinium.Client
	tel      *telemetry
}

func newExporter(set exporter.Settings, c *Config) (*tracesExporter, error) {
	// The version is the Collector's, not hookspan's.
	client, err := infinium.NewClient(c.options("collector-" + cmp.Or(set.BuildInfo.Version, "dev")))
	if err != nil {
		return nil, renamed(err)
	}
	e := &tracesExporter{config: c, set: set, client: client, gatherer: newGatherer(c.Wait, c.WaitWithoutRoot)}
	e.tel, err = newTelemetry(set.TelemetrySettings, set.ID, e.gatherer.waiting)
	if err != nil {
		return nil, fmt.Errorf("metrics of the component: %w", err)
	}
	e.sender = &sender{
		send:  client.Send,
		forms: c.forms(),
		rate:  newLimiter(c.RequestsPerSecond),
		slots: make(chan struct{}, maxRequests),
		tel:   e.tel, log: set.Logger,
	}
	e.gatherer.deliver = e.sender.deliver
	e.gatherer.repeated = e.tel.repeated
	e.gatherer.keep = e.keep
	e.gatherer.durable = c.Retry.Enabled && c.Queue.HasValue() && c.Queue.Get().StorageID != nil
	return e, nil
}

func (e *tracesExporter) start(context.Context, component.Host) error {
	if e.config.ParkedDirectory != "" {
		p, err := openParked(e.config.ParkedDirectory)
		if err != nil {
			return err
		}
		e.sender.park = p.write
	}
	if !e.config.Retry.Enabled && e.config.Queue.HasValue() {
		e.set.Logger.Warn("retry_on_failure is off: traces that Infinium does not accept at the first attempt are dropped.")
	}
	return nil
}

// slack is added to the longest time after which a push is retried.
const slack = 10 * time.Second

// keep is how long spans that were not accepted wait for the retry of their push:
// as long as the retry sender may take for it.
func (e *tracesExporter) keep(err error) time.Duration {
	retry, r := e.config.Retry, refusalOf(err)
	// After MaxElapsedTime the retry sender gives up instead of waiting.
	if !retry.Enabled || r.final || retry.MaxElapsedTime > 0 && r.after > retry.MaxElapsedTime {
		return 0
	}
	longest := time.Duration(float64(retry.MaxInterval) * (1 + retry.RandomizationFactor))
	return max(longest, r.after) + slack
}

// push returns when every trace of the request was answered. Its error contains
// the spans to retry, and no others.
func (e *tracesExporter) push(ctx context.Context, td ptrace.Traces) error {
	parts, err := split(td)
	if err != nil {
		return consumererror.NewPermanent(err)
	}
	out := e.gatherer.push(ctx, parts)
	var again []*item
	var first, final error
	var after time.Duration
	for i, err := range out.errs {
		switch r := refusalOf(err); {
		case r.parked:
		case r.final:
			final = cmp.Or(final, err)
		default:
			after, first = max(after, r.after), cmp.Or(first, err)
			again = append(again, out.items[i])
		}
	}
	if len(again) == 0 {
		if final == nil {
			return nil
		}
		return consumererror.NewPermanent(fmt.Errorf("%d of %d spans were refused: %w", len(out.items), td.SpanCount(), final))
	}
	rest, err := merged(again)
	if err != nil {
		rest = td // accepted spans are remembered
	}
	// The text alone: a permanent error within would end the retries.
	err = consumererror.NewTraces(fmt.Errorf("%d of %d spans were not accepted: %s", len(again), td.SpanCount(), first.Error()), rest)
	if after > 0 {
		return exporterhelper.NewThrottleRetry(err, after)
	}
	return err
}

// Shutdown sends the waiting traces, then ends the queue, which waits for its
// pushes. When ctx ends, it cancels the requests, and their pushes fail.
func (e *tracesExporter) Shutdown(ctx context.Context) error {
	release := context.AfterFunc(ctx, e.gatherer.cancel)
	defer release()
	e.sender.stop()
	e.gatherer.stop()
	err := e.Traces.Shutdown(ctx)
	e.gatherer.close()
	return errors.Join(err, e.tel.waiting.Unregister(), e.client.Stop(ctx))
}
