package pipeline

import (
	"context"
	"errors"
	"io"
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

// sendMetrics sends what has been counted since the last answer, if anything has, but no sooner after that
// than the interval, unless the pass is forced. It reports whether something is left for a later delivery,
// and in what time it is due if the interval has not passed. One process sends at a time: a total that is late
// would be taken for one that has fallen. It also sends what others count meanwhile, which wait only if their
// pass says so.
func (p *Pipeline) sendMetrics(ctx context.Context, pass deliver.Pass) (left bool, due time.Duration) {
	if p.Store == nil || !p.setup.Config.MetricsOn() {
		return false, 0
	}
	d := deliver.Destination{Name: config.DestinationMetrics}
	d.Paused = func() time.Time {
		all, _ := deliver.Answers(p.setup.Config.StateDir, d.Name)
		return deliver.PausedUntil(all, p.setup.Target(d.Name), p.setup.Config.Account(d.Name))
	}
	if p.waits(&d, pass, &deliver.Result{}) != nil {
		return true, 0
	}
	m, err := p.metrics()
	sent, interval := false, p.setup.Config.MetricsInterval()
	for more := err == nil; more; {
		var reported time.Time
		more, reported, err = p.Store.Grown(ctx, m.place)
		since := p.Deliverer.Now().Sub(reported)
		if since < 0 { // the clock was set back: the file has the time by it
			if f, err := os.Lstat(p.setup.metricsLock()); err == nil {
				since = p.Deliverer.Now().Sub(f.ModTime())
			}
		}
		if more && since >= 0 && since < interval && !pass.Force {
			more, due = false, interval-since
		}
		if more && err == nil {
			more, err = m.send(ctx, pass.Wait)
			sent = sent || more
		}
		more = more && err == nil
	}
	if ctx.Err() != nil || !sent && err == nil {
		return false, due
	}
	p.Deliverer.Answered(d.Name, err)
	if err != nil {
		p.Deliverer.Log("metrics: " + termtext.Message(err))
	}
	return err != nil && deliver.Retryable(err), due
}

// metricsLock is the file that the process that sends metrics locks, written when one has.
func (s *Setup) metricsLock() string { return filepath.Join(s.Config.StateDir, "metrics.lock") }

// sendLater sends what is due in a time, unless another process waits for that. If the endpoint does not
// answer then, it stays to try again as a sweep does.
func (p *Pipeline) sendLater(ctx context.Context, due time.Duration) error {
	until := p.Deliverer.Now().Add(due + linger)
	for due > 0 {
		lock, err := p.setup.lock(ctx, "metrics.later", 0)
		if lock == nil {
			return err
		}
		err = p.Deliverer.Sleep(ctx, due)
		// What others count from now on is theirs to wait for.
		err = errors.Join(err, lock.Close())
		if err != nil || p.setup.SpoolGone() {
			return err
		}
		var left bool
		left, due = p.sendMetrics(ctx, deliver.Pass{})
		if again := 10 * time.Second; left && !p.Deliverer.Now().Add(again).After(until) {
			due = again
		}
	}
	return nil
}

// lock returns a lock of a file in the state folder, nil if another process has it for longer than a time.
func (s *Setup) lock(ctx context.Context, name string, within time.Duration) (io.Closer, error) {
	f, _, err := regular.Open(filepath.Join(s.Config.StateDir, name), regular.Options{Flag: os.O_CREATE | os.O_RDWR, Perm: 0o600, NoLink: true})
	if err != nil {
		return nil, err
	}
	soon, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if filelock.Wait(soon, f) != nil {
		return nil, f.Close()
	}
	return f, nil
}

// send sends what has grown, unless another process is sending: that sends what is counted by now.
func (m metrics) send(ctx context.Context, wait bool) (sent bool, err error) {
	cfg := m.of.setup.Config
	within := time.Duration(0)
	if wait {
		within = cfg.MetricsOTLP().Timeout + 10*time.Second
	}
	lock, err := m.of.setup.lock(ctx, filepath.Base(m.of.setup.metricsLock()), within)
	if lock == nil {
		return false, err
	}
	defer func() { _ = lock.Close() }()
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
	now := m.of.Deliverer.Now()
	_ = os.Chtimes(m.of.setup.metricsLock(), now, now) // without it the interval may be cut short
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
