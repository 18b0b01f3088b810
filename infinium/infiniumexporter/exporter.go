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
		e.set.Logger.Warn("retry_on_failure is off: what Infinium does not take at the first try is dropped.")
	}
	return nil
}

// slack is added to the time after which a push comes again at the latest.
const slack = 10 * time.Second

// keep is how long spans that were not accepted wait for their push to come
// again: as long as the retry sender may take for it.
func (e *tracesExporter) keep(err error) time.Duration {
	var r *refusal
	if !e.config.Retry.Enabled || errors.As(err, &r) && r.final {
		return 0
	}
	// Then the retry sender gives up instead of waiting.
	if end := e.config.Retry.MaxElapsedTime; r != nil && end > 0 && r.after > end {
		return 0
	}
	longest := time.Duration(float64(e.config.Retry.MaxInterval) * (1 + e.config.Retry.RandomizationFactor))
	if r != nil {
		longest = max(longest, r.after)
	}
	return longest + slack
}

// push returns when every trace of the request was answered. Its error holds the
// spans to retry, and no others.
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
		var r *refusal
		if errors.As(err, &r) {
			if r.parked {
				continue
			}
			if r.final {
				final = cmp.Or(final, err)
				continue
			}
			after = max(after, r.after)
		}
		first = cmp.Or(first, err)
		again = append(again, out.items[i])
	}
	if len(again) == 0 {
		if final == nil {
			return nil
		}
		return consumererror.NewPermanent(fmt.Errorf("%d of %d spans were refused: %w", len(out.items), td.SpanCount(), final))
	}
	rest, err := merged(again)
	if err != nil {
		rest = td // what was accepted is remembered
	}
	// The text alone: a permanent error within would end the retries.
	err = consumererror.NewTraces(fmt.Errorf("%d of %d spans were not accepted: %s", len(again), td.SpanCount(), first.Error()), rest)
	if after > 0 {
		return exporterhelper.NewThrottleRetry(err, after)
	}
	return err
}

// Shutdown sends the waiting traces, then ends the queue, which waits for its
// pushes. When ctx ends, it cancels the requests on their way, and their pushes
// fail.
func (e *tracesExporter) Shutdown(ctx context.Context) error {
	release := context.AfterFunc(ctx, e.gatherer.cancel)
	defer release()
	e.sender.stop()
	e.gatherer.stop()
	err := e.Traces.Shutdown(ctx)
	e.gatherer.close()
	return errors.Join(err, e.tel.close(), e.client.Stop(ctx))
}
