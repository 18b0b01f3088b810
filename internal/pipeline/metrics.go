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
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/sums"
)

// metricsAtOnce is how many series one request has at most.
const metricsAtOnce = 500

// metrics sends what the local store has counted.
type metrics struct {
	of   *Pipeline
	pass deliver.Pass
	// target and account are the endpoint and the account there, place both of them in the store. The
	// settings make them anew at each call.
	target, account, place string
	// last is the last answer that is noted, nil if there is none.
	last *deliver.Answer
}

// MetricsPlace names the endpoint of metrics and the account there in the store.
func (s *Setup) MetricsPlace() string {
	return place(s.Target(config.DestinationMetrics), s.Config.Account(config.DestinationMetrics))
}

func place(target, account string) string { return target + " " + account }

func (s *Setup) metricsClient() (*deliver.Metrics, error) {
	o := s.Config.MetricsOTLP()
	return deliver.NewMetrics(deliver.OTLP{
		Endpoint: o.Endpoint, Headers: o.Headers, JSON: o.Protocol == "http/json", Gzip: o.Compression == "gzip", Timeout: o.Timeout,
		CA: o.Certificate, Cert: o.ClientCertificate, Key: o.ClientKey, AllowInsecure: o.AllowInsecure, AnyUser: s.Config.AllowOtherUsers,
		HeadersCommand: s.Config.MetricsHeadersCommand(), HeadersCache: s.Config.HeadersCachePath(), Shared: &s.connections,
	})
}

// sendMetrics sends what has been counted since the last answer, if anything has, but no sooner after that
// than the interval, unless the pass is forced. It reports whether something is left for a later delivery,
// in what time it is due if the interval has not passed, and why nothing was taken. One process sends at a time: a
// total that is late would be taken for one that has fallen. It also sends what others count meanwhile, which wait only if their
// pass says so.
func (p *Pipeline) sendMetrics(ctx context.Context, pass deliver.Pass) (left bool, due time.Duration, err error) {
	if p.Store == nil || !p.setup.Config.MetricsOn() {
		return false, 0, nil
	}
	name := config.DestinationMetrics
	m := metrics{of: p, pass: pass, target: p.setup.Target(name), account: p.setup.Config.Account(name)}
	m.place = place(m.target, m.account)
	sent := false
	var reported time.Time
	for more := true; more && err == nil; {
		more, reported, err = p.Store.Unreported(ctx, m.place)
		if !more || err != nil {
			break
		}
		due = m.rest(reported)
		if due > 0 {
			break
		}
		if m.paused() {
			return true, 0, nil
		}
		more, due, err = m.send(ctx)
		sent = sent || more
	}
	if ctx.Err() != nil || !sent && err == nil {
		return false, due, nil
	}
	if m.last != nil && m.last.Error == "" && !p.noted {
		if err == nil {
			return false, due, nil // A success after another is in the store alone: a file takes longer than to send.
		}
		if reported.After(m.last.Taken) {
			m.last.Taken = reported // as the wait after a failure begins there
			_ = deliver.NoteAnswer(p.setup.Config.StateDir, name, *m.last)
		}
	}
	p.noted = true
	p.Deliverer.Answered(name, err)
	if err != nil {
		p.Deliverer.Log("metrics: " + termtext.Message(err))
	}
	return err != nil && deliver.Retryable(err), due, err
}

// rest returns the rest of the interval after the newest report.
func (m *metrics) rest(reported time.Time) time.Duration {
	since := m.of.Deliverer.Now().Sub(reported)
	if since < 0 { // the clock was set back: the file has the time by it
		if f, err := os.Lstat(m.of.setup.metricsLock()); err == nil {
			since = m.of.Deliverer.Now().Sub(f.ModTime())
		}
	}
	if since < 0 || m.pass.Force {
		return 0
	}
	return max(0, m.of.setup.Config.MetricsInterval()-since)
}

// paused reports whether the endpoint has asked to wait, or has failed and is not tried again yet.
func (m *metrics) paused() bool {
	d := deliver.Destination{Name: config.DestinationMetrics}
	all, _ := deliver.Answers(m.of.setup.Config.StateDir, d.Name)
	m.last, _ = lastOf(all, m.target, m.account)
	d.Paused = func() time.Time { return deliver.PausedUntil(all, m.target, m.account) }
	return m.of.waitsAfter(m.last, &d, m.pass, &deliver.Result{}) != nil
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
		left, due, _ = p.sendMetrics(ctx, deliver.Pass{}) // It is logged.
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

// send sends what has grown, unless another process is sending, which sends what is counted by now, or
// has sent since this one has looked.
func (m *metrics) send(ctx context.Context) (sent bool, due time.Duration, err error) {
	cfg := m.of.setup.Config
	within := time.Duration(0)
	if m.pass.Wait {
		within = cfg.MetricsOTLP().Timeout + 10*time.Second
	}
	lock, err := m.of.setup.lock(ctx, filepath.Base(m.of.setup.metricsLock()), within)
	if lock == nil {
		return false, 0, err
	}
	defer func() { _ = lock.Close() }()
	counted, err := m.of.Store.Sums(ctx, m.place)
	if err != nil || !slices.ContainsFunc(counted.Points, func(p sums.Point) bool { return p.Grown() }) {
		return false, 0, err
	}
	due = m.rest(counted.Reported)
	if due > 0 {
		return false, due, nil
	}
	client, err := m.of.setup.metricsClient()
	if err != nil {
		return false, 0, err
	}
	form := counted.Form(m.of.Deliverer.Now(), cfg.MetricsDelta())
	for _, p := range cfg.MetricsResource() {
		form.Resource = append(form.Resource, p.Key, p.Value)
	}
	points := counted.Points
	if form.Delta {
		points = slices.DeleteFunc(points, func(p sums.Point) bool { return !p.Grown() })
	}
	for left := points; len(left) > 0; {
		some := left[:min(len(left), metricsAtOnce)]
		left = left[len(some):]
		version := counted.Version
		if len(left) > 0 {
			version = 0
		}
		if err := m.report(ctx, client, &form, some, version); err != nil {
			return true, 0, err
		}
	}
	return true, 0, nil
}

// report sends points, in halves if they are too many for the endpoint, and notes what it has
// answered. What it rejects in part it has: it would reject the same again. The version is what it has all of then, 0 if nothing.
func (m *metrics) report(ctx context.Context, client *deliver.Metrics, form *sums.Form, points []sums.Point, version int64) error {
	err := client.Upload(ctx, form.Encode(points))
	var e *deliver.Error
	switch {
	case err == nil:
	case errors.As(err, &e) && e.TooLarge && len(points) > 1:
		half := len(points) / 2
		if err := m.report(ctx, client, form, points[:half], 0); err != nil {
			return err
		}
		return m.report(ctx, client, form, points[half:], version)
	case e != nil && e.Rejected != 0:
		m.of.Deliverer.Log("metrics: " + termtext.Message(err))
	default:
		return err
	}
	now := m.of.Deliverer.Now()
	_ = os.Chtimes(m.of.setup.metricsLock(), now, now) // without it the interval may be cut short
	return m.of.Store.Acknowledge(context.WithoutCancel(ctx), m.place, *form, points, version)
}

// TryMetrics sends a metric that no board shows, and says what the endpoint answers.
func (p *Pipeline) TryMetrics(ctx context.Context) Trial {
	t := Trial{Destination: config.DestinationMetrics, Target: p.setup.Target(config.DestinationMetrics)}
	start := p.Deliverer.Now()
	within, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	client, err := p.setup.metricsClient()
	if err == nil {
		err = client.Upload(within, sums.Test(start))
	}
	return p.tried(ctx, t, start, "taken", err, func() (string, error) { return "taken", nil })
}
