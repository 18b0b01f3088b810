package agentmetrics

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/extension/xextension/storage"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.uber.org/zap"

	"github.com/hookspan/hookspan/otelmap/instruments"
)

// counter is the connector.
type counter struct {
	set  connector.Settings
	cfg  *Config
	keys []string
	next consumer.Metrics
	// now is the clock.
	now func() time.Time

	// mu protects what follows.
	mu     sync.Mutex
	totals *totals
	recent recent
	traces traces
	// unwritten are the spans of recent that are in no chunk yet.
	unwritten []uint64
	// added counts requests, written those of them that are in the storage.
	added, written uint64
	told           bool
	// reported is the time of the last report.
	reported time.Time

	// writing is held while the storage is written, and before mu.
	writing sync.Mutex
	store   storage.Client

	stop context.CancelFunc
	done chan struct{}
}

func newCounter(set connector.Settings, cfg *Config, next consumer.Metrics) *counter {
	return &counter{
		set: set, cfg: cfg, keys: cfg.labels(), next: next, now: time.Now,
		totals: &totals{labelLimit: cfg.LabelLimit, seriesLimit: cfg.SeriesLimit, byKey: map[string]*series{}, sets: map[string]bool{}},
		recent: recent{ids: map[uint64]struct{}{}},
	}
}

// Capabilities reports that spans are not changed.
func (*counter) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

// Start reads the totals from the storage and begins to report them.
func (c *counter) Start(ctx context.Context, host component.Host) error {
	if c.cfg.Storage != nil {
		ext, ok := host.GetExtensions()[*c.cfg.Storage].(storage.Extension)
		if !ok {
			return errors.New("storage: there is no storage extension " + c.cfg.Storage.String())
		}
		var err error
		if c.store, err = ext.GetClient(ctx, component.KindConnector, c.set.ID, ""); err != nil {
			return err
		}
		if err := c.restore(ctx); err != nil {
			return err
		}
	}
	ctx, c.stop = context.WithCancel(context.Background())
	c.done = make(chan struct{})
	go c.reports(ctx)
	return nil
}

func (c *counter) reports(ctx context.Context) {
	defer close(c.done)
	tick := time.NewTicker(c.cfg.Interval)
	defer tick.Stop()
	for {
		c.report(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Shutdown reports the totals once more.
func (c *counter) Shutdown(ctx context.Context) error {
	if c.stop != nil {
		c.stop()
		<-c.done
		c.report(ctx)
	}
	if c.store == nil {
		return nil
	}
	return c.store.Close(ctx)
}

// report sends all totals. What is reported is in the storage: a total never falls.
func (c *counter) report(ctx context.Context) {
	c.mu.Lock()
	// The exporter takes nothing older than what it has: a clock that is set back would
	// stop the metrics for that time.
	now := c.now()
	if c.totals.expire(now, now.Add(-c.cfg.Expiration)) {
		c.added++ // it has to be in the storage as well
	}
	if now.Before(c.reported) {
		now = c.reported.Add(time.Millisecond)
	}
	c.reported = now
	out, upTo := c.totals.report(now, c.cfg.Gateway), c.added
	if c.totals.folded && !c.told {
		c.told = true
		c.set.Logger.Warn("Too many combinations of labels: further ones share the label value \"other\", or a series with the label otel.metric.overflow",
			zap.Int("label_limit", c.cfg.LabelLimit), zap.Int("series_limit", c.cfg.SeriesLimit))
	}
	c.mu.Unlock()
	if err := c.write(ctx, upTo); err != nil {
		c.set.Logger.Error("The metrics' totals cannot be written to the storage", zap.Error(err))
		return
	}
	if out.DataPointCount() == 0 {
		return
	}
	if err := c.next.ConsumeMetrics(ctx, out); err != nil {
		c.set.Logger.Error("The metrics cannot be passed on", zap.Error(err))
	}
}

// ConsumeTraces counts the spans that are new and returns when the counts are in the
// storage. After an error it can be called with the same spans: they count once.
func (c *counter) ConsumeTraces(ctx context.Context, td ptrace.Traces) error {
	c.mu.Lock()
	c.learn(td)
	c.count(td)
	c.added++
	upTo := c.added
	c.mu.Unlock()
	return c.write(ctx, upTo)
}

func each(td ptrace.Traces, f func(resource pcommon.Map, span ptrace.Span)) {
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				f(rs.Resource().Attributes(), span)
			}
		}
	}
}

// learn remembers what roots say of their traces.
func (c *counter) learn(td ptrace.Traces) {
	each(td, func(resource pcommon.Map, span ptrace.Span) {
		if instruments.IsRun(measured{span}) {
			c.traces.learn(span.TraceID(), facts{
				own:      c.own(resource, span.Attributes(), nil),
				imported: imported(resource) || instruments.Imported(measured{span}),
			})
		}
	})
}

func (c *counter) count(td ptrace.Traces) {
	now := c.now()
	if now.Before(c.reported) { // what a clock that is behind dates would have expired later
		now = c.reported
	}
	each(td, func(resource pcommon.Map, span ptrace.Span) {
		if instruments.OfTest(measured{span}) {
			return
		}
		service := service(resource)
		id := spanID(span.TraceID(), span.SpanID())
		if !c.recent.add(id) {
			c.totals.add(now, service, nil, instruments.Sample{Instrument: instruments.RepeatedSpans, Value: 1})
			return
		}
		c.unwritten = append(c.unwritten, id)
		trace := c.traces.of(span.TraceID())
		own := c.totals.bounded(c.own(resource, span.Attributes(), trace.own))
		if trace.imported || imported(resource) || instruments.Imported(measured{span}) {
			c.totals.add(now, service, own, instruments.Sample{Instrument: instruments.ImportedSpans, Value: 1})
			return
		}
		for _, s := range instruments.Samples(measured{span}) {
			c.totals.add(now, service, own, s)
		}
	})
}

// own returns the configured labels of a span: keys and values in turn.
func (c *counter) own(resource, span pcommon.Map, trace []string) []string {
	var out []string
	for i, k := range c.keys {
		v, ok := resource.Get(k)
		if !ok {
			v, ok = span.Get(k)
		}
		value := ""
		switch {
		case ok:
			value = instruments.Cut(v.AsString())
		case trace != nil:
			value = trace[2*i+1]
		}
		out = append(out, k, value)
	}
	return out
}
