package pipeline

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/files/filelock"
	"github.com/hookspan/hookspan/internal/files/regular"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/sums"
)

// metricsAtOnce is how many series one request has at most.
const metricsAtOnce = 500

// metrics sends what the local store has counted.
type metrics struct {
	of     *Pipeline
	client *deliver.Metrics
	// place names the endpoint and the account in the store.
	place string
}

func (p *Pipeline) metrics() (m metrics, err error) {
	s, name := p.setup, config.DestinationMetrics
	client, err := s.metricsClient()
	return metrics{p, client, s.Target(name) + " " + s.Config.Account(name)}, err
}

func (s *Setup) metricsClient() (*deliver.Metrics, error) {
	o := s.Config.MetricsOTLP()
	return deliver.NewMetrics(deliver.OTLP{
		Endpoint: o.Endpoint, Headers: o.Headers, JSON: o.Protocol == "http/json", Gzip: o.Compression == "gzip", Timeout: o.Timeout,
		CA: o.Certificate, Cert: o.ClientCertificate, Key: o.ClientKey, AllowInsecure: o.AllowInsecure, AnyUser: s.Config.AllowOtherUsers,
		HeadersCommand: s.Config.MetricsHeadersCommand(), HeadersCache: s.Config.HeadersCachePath(),
	})
}

// sendMetrics sends what has been counted since the last answer, if anything has, and reports whether
// something is left for a later delivery. One process sends at a time: a total that is late would be
// taken for one that has fallen. It also sends what others count meanwhile, which wait only if the pass says so.
func (p *Pipeline) sendMetrics(ctx context.Context, pass deliver.Pass) (left bool) {
	if p.Store == nil || !p.setup.Config.MetricsOn() {
		return false
	}
	d := deliver.Destination{Name: config.DestinationMetrics}
	d.Paused = func() time.Time {
		all, _ := deliver.Answers(p.setup.Config.StateDir, d.Name)
		return deliver.PausedUntil(all, p.setup.Target(d.Name), p.setup.Config.Account(d.Name))
	}
	if p.waits(&d, pass, &deliver.Result{}) != nil {
		return true
	}
	m, err := p.metrics()
	sent := false
	for more := err == nil; more; {
		more, err = m.send(ctx, pass.Wait)
		sent = sent || more
		more = more && err == nil
	}
	if ctx.Err() != nil || !sent && err == nil {
		return false
	}
	p.Deliverer.Answered(d.Name, err)
	if err != nil {
		p.Deliverer.Log("metrics: " + termtext.Message(err))
	}
	return err != nil && deliver.Retryable(err)
}

// send sends what has grown, unless another process is sending.
func (m metrics) send(ctx context.Context, wait bool) (sent bool, err error) {
	cfg := m.of.setup.Config
	lock, _, err := regular.Open(filepath.Join(cfg.StateDir, "metrics.lock"), regular.Options{Flag: os.O_CREATE | os.O_RDWR, Perm: 0o600, NoLink: true})
	if err != nil {
		return false, err
	}
	defer func() { _ = lock.Close() }()
	soon, cancel := context.WithTimeout(ctx, cfg.MetricsOTLP().Timeout+10*time.Second)
	defer cancel()
	if !wait {
		cancel()
	}
	if err := filelock.Wait(soon, lock); err != nil {
		return false, nil // The other one goes on with what is counted by now.
	}
	counted, err := m.of.Store.Sums(ctx, m.place)
	if err != nil || !slices.ContainsFunc(counted.Points, func(p sums.Point) bool { return p.Grown() }) {
		return false, err
	}
	form := counted.Form(m.of.Deliverer.Now(), cfg.MetricsDelta())
	for _, p := range cfg.MetricsResource() {
		form.Resource = append(form.Resource, otlp.String(p.Key, p.Value))
	}
	points := counted.Points
	if form.Delta {
		points = slices.DeleteFunc(points, func(p sums.Point) bool { return !p.Grown() })
	}
	for some := range slices.Chunk(points, metricsAtOnce) {
		if err := m.report(ctx, &form, some); err != nil {
			return true, err
		}
	}
	return true, nil
}

// report sends points, in halves if they are too many for the endpoint, and notes what it has
// answered. What it rejects in part it has: it would reject the same again.
func (m metrics) report(ctx context.Context, form *sums.Form, points []sums.Point) error {
	err := m.client.Upload(ctx, form.Encode(points))
	var e *deliver.Error
	switch {
	case err == nil:
	case errors.As(err, &e) && e.TooLarge && len(points) > 1:
		half := len(points) / 2
		if err := m.report(ctx, form, points[:half]); err != nil {
			return err
		}
		return m.report(ctx, form, points[half:])
	case e != nil && e.Rejected != 0:
		m.of.Deliverer.Log("metrics: " + termtext.Message(err))
	default:
		return err
	}
	return m.of.Store.Acknowledge(context.WithoutCancel(ctx), m.place, *form, points)
}

// TryMetrics sends a metric that no board shows, and says what the endpoint answers.
func (p *Pipeline) TryMetrics(ctx context.Context) Trial {
	t := Trial{Destination: config.DestinationMetrics, Target: p.setup.Target(config.DestinationMetrics)}
	start := p.Deliverer.Now()
	within, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	m, err := p.metrics()
	if err == nil {
		err = m.client.Upload(within, sums.Test(start))
	}
	return p.tried(ctx, t, start, "taken", err, func() (string, error) { return "taken", nil })
}
