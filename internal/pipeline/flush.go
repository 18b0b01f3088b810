package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/spool"
)

// linger is how long a sweep in the background stays to try again a destination
// that did not answer. It is shorter than the time between two sweeps, so that
// they do not add up; later hooks take over after that.
const linger = 45 * time.Second

// Flush delivers what is waiting in the sessions, or in all if none is named, and
// then removes what is no longer needed.
func (p *Pipeline) Flush(ctx context.Context, pass deliver.Pass) ([]deliver.Result, error) {
	results, err := p.Deliverer.Run(ctx, pass)
	if err == nil {
		err = p.sendWhatIsOwed(ctx, pass, results)
	}
	if _, _, failed := p.sendMetrics(ctx, pass); failed != nil {
		results = append(results, deliver.Result{Destination: config.DestinationMetrics, Unsent: true, Errors: []string{termtext.Message(failed)}})
	}
	p.index(ctx)
	p.sendBudgets(ctx, pass)
	if err == nil && len(pass.Sessions) == 0 {
		p.removeOld(ctx)
	}
	return results, err
}

// SpoolGone reports that no folder has events, as after the home folder was removed.
func (s *Setup) SpoolGone() bool {
	_, err := os.Lstat(s.Config.SpoolDir())
	return errors.Is(err, fs.ErrNotExist)
}

// Sweep delivers as hooks start it. A sweep of all sessions tries a destination
// that does not answer again, at the stored times, for as long as it lingers, or until
// the spool is gone.
func (p *Pipeline) Sweep(ctx context.Context, sessions []spool.Key) error {
	all := len(sessions) == 0
	if all {
		// An agent that is interrupted calls its hook before it writes the last
		// lines of its files.
		if err := p.Deliverer.Sleep(ctx, time.Second); err != nil {
			return err
		}
	}
	until := p.Deliverer.Now().Add(linger)
	var due time.Duration
	for {
		pass := deliver.Pass{Sessions: sessions}
		results, err := p.Deliverer.Run(ctx, pass)
		if err == nil {
			err = p.sendWhatIsOwed(ctx, pass, results)
		}
		if p.setup.SpoolGone() {
			return nil // A line in the log would make the folder anew.
		}
		if err != nil {
			if ctx.Err() == nil {
				p.Deliverer.Log("flush: " + err.Error())
			}
			return err
		}
		waiting := 0
		for _, r := range results {
			waiting += r.Waiting
		}
		left := false
		left, due, _ = p.sendMetrics(ctx, pass) // It is logged.
		if left {
			waiting++
		}
		next := p.Deliverer.Now().Add(10 * time.Second)
		p.index(ctx)
		if p.sendBudgets(ctx, pass) {
			waiting++
		}
		if waiting == 0 || !all || next.After(until) {
			break
		}
		if err := p.Deliverer.Sleep(ctx, next.Sub(p.Deliverer.Now())); err != nil {
			return err
		}
	}
	if all {
		p.removeOld(ctx)
	}
	return p.sendLater(ctx, due)
}

// index adds to the store's full text what was delivered. A failure is logged: a
// search adds the rest.
func (p *Pipeline) index(ctx context.Context) {
	if p.Store == nil || ctx.Err() != nil {
		return
	}
	if _, err := p.Store.Index(ctx, 0); err != nil && ctx.Err() == nil {
		p.Deliverer.Log("full text: " + err.Error())
	}
}

// removeOld removes what is no longer needed. A failure is logged.
func (p *Pipeline) removeOld(ctx context.Context) {
	log := func(err error) {
		if err != nil {
			p.Deliverer.Log("housekeeping: " + err.Error())
		}
	}
	if p.setup.RemoveOld != nil {
		log(p.setup.RemoveOld())
	}
	log(p.Deliverer.Housekeep(ctx, deliver.Limits{MaxBytes: p.setup.Config.SpoolMaxBytes}))
	if keep := p.setup.Config.Retention; p.Store != nil && keep > 0 {
		before := p.Deliverer.Now().Add(-keep)
		ok, err := p.Store.Outdated(ctx, before)
		if ok && err == nil {
			ok, err = p.steady()
		}
		if ok && err == nil {
			_, err = p.Store.Prune(ctx, before)
		}
		log(err)
	}
	if p.Store != nil {
		n, err := p.Store.Limit(ctx, p.setup.Config.StoreMaxBytes)
		log(err)
		if n > 0 {
			p.Deliverer.Log(fmt.Sprintf("the local store has reached HOOKSPAN_STORE_MAX_BYTES: removed %s", termtext.Plural(n, "trace")))
		}
	}
}

// OpenStore opens the local store after bringing it up to date, so that a task
// that ended without an event shows as ended. The store is opened even if it is
// no destination.
func (s *Setup) OpenStore(ctx context.Context) (*Pipeline, error) {
	p, err := s.Open(ctx, config.ExporterStore)
	if err != nil {
		return nil, err
	}
	if p.Store != nil {
		_, err = p.Deliverer.Run(ctx, deliver.Pass{Force: true})
	} else {
		_, err = p.openStore(ctx)
	}
	if err != nil {
		_ = p.Close()
		return nil, err
	}
	return p, nil
}

// Running returns the traces of the tasks that run now, the newest first, from the
// spool. They are never stored. What can be read is returned with an error, too.
func (p *Pipeline) Running(ctx context.Context) ([]*store.Trace, error) {
	messages, err := p.Deliverer.Running(ctx, config.ExporterStore)
	var out []*store.Trace
	for _, m := range messages {
		if t := store.NewTrace([]*tracepb.ResourceSpans{m}); t != nil {
			out = append(out, t)
		}
	}
	return out, err
}

// Trace returns the trace whose id begins with prefix, stored or of a running task, or
// the newest one for the empty prefix. Its errors are those of store.Store.Trace.
func (p *Pipeline) Trace(ctx context.Context, prefix string) (*store.Trace, error) {
	running, err := p.Running(ctx)
	if err != nil {
		p.Deliverer.Log("running tasks: " + err.Error())
	}
	t, err := p.Store.Trace(ctx, prefix)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	// A task that has ended meanwhile is in both.
	for _, r := range running {
		switch {
		case !r.Is(prefix):
		case t == nil, prefix == "" && r.Started.After(t.Started):
			return r, nil
		case prefix != "" && r.TraceID != t.TraceID:
			return nil, &store.AmbiguousError{Prefix: prefix, Candidates: []store.Summary{r.Summary, t.Summary}}
		}
	}
	return t, err
}
