package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/files/filelock"
	"github.com/hookspan/hookspan/internal/traces/store"
)

// The local store takes imported traces before the other destinations and notes what each is
// owed, in one transaction (store.Owing). What has not answered is sent by the next import,
// flush or sweep, each under the lock that Alone takes: a kill costs the answers that are not
// noted yet.

// Owe makes the local store note the traces that it takes from now on for the others of
// some destinations. A trace is stored at once, so that a kill leaves no part of one.
func (p *Pipeline) Owe(destinations []deliver.Destination) {
	owing := store.Owing{Store: p.Store, Place: p.setup.Config.Fingerprint()}
	for _, d := range destinations {
		if !d.Local {
			owing.Destinations = append(owing.Destinations, d.Name)
		}
	}
	for i := range destinations {
		if d := &destinations[i]; d.Local && p.Store != nil {
			d.Client, d.Batch = owing, 0
		}
	}
}

// owedAtOnce is how many traces are sent before the answers are noted.
const owedAtOnce = 16

// sendWhatIsOwed adds to the results of a pass what imports have left over, unless another
// process is sending it.
func (p *Pipeline) sendWhatIsOwed(ctx context.Context, pass deliver.Pass, results []deliver.Result) error {
	if p.Store == nil || len(pass.Sessions) > 0 {
		return nil
	}
	owed, err := p.Store.Owed(ctx, "")
	if err != nil || len(owed) == 0 {
		return err
	}
	soon, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if lock, err := filelock.Folder(soon, p.setup.Config.SpoolDir()); err == nil {
		defer func() { _ = lock.Close() }()
		return p.SendOwed(ctx, pass, results)
	}
	for _, o := range owed {
		if i := slices.IndexFunc(results, func(r deliver.Result) bool { return r.Destination == o.Destination }); i >= 0 {
			results[i].Waiting++
		}
	}
	return ctx.Err()
}

// SendOwed sends what imports have left over, by the environment of this process unless the
// pass says otherwise, and adds to the results of the destinations,
// which are in their order. The caller has the lock of Alone.
func (p *Pipeline) SendOwed(ctx context.Context, pass deliver.Pass, results []deliver.Result) error {
	errs := make([]error, len(results))
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() { errs[i] = p.owedTo(ctx, &p.Deliverer.Destinations[i], pass, &results[i]) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// owedTo sends what one destination is owed, a few traces at a time.
func (p *Pipeline) owedTo(ctx context.Context, dst *deliver.Destination, pass deliver.Pass, res *deliver.Result) error {
	owed, err := p.Store.Owed(ctx, dst.Name)
	if err != nil {
		return err
	}
	all, own := len(owed), p.setup.Config.Fingerprint()
	owed = slices.DeleteFunc(owed, func(o store.Owed) bool {
		here := o.Place == own && own != config.UnknownPlace || p.setup.ByHand && o.Place == ""
		return !here && !pass.OtherSettings
	})
	res.OwedElsewhere += all - len(owed)
	if waits := p.waits(dst, pass, res); len(owed) == 0 || waits != nil {
		res.Waiting += len(owed)
		if len(owed) > 0 && p.setup.ByHand {
			res.Errors = append(res.Errors, waits.Error())
		}
		return nil
	}
	// The next delivery tries again.
	once := *p.Deliverer
	once.Progress, once.Sleep = nil, func(context.Context, time.Duration) error { return context.DeadlineExceeded }
	kept := 0
	for err == nil && len(owed) > 0 {
		n := min(owedAtOnce, len(owed))
		for dst.Join != nil && n < len(owed) && owed[n].Session == owed[n-1].Session {
			n++
		}
		var some []deliver.StoredTrace
		for _, o := range owed[:n] {
			some = append(some, deliver.StoredTrace{ID: o.Trace, Session: o.Session})
		}
		var sent deliver.Filled
		sent, err = once.Fill(ctx, dst, some, p.stored)
		var answered []string
		for _, t := range some[:n-sent.Left] {
			if !slices.Contains(sent.Denied, t.ID) {
				answered = append(answered, t.ID)
			}
		}
		res.Runs, res.Spans, kept = res.Runs+sent.Traces, res.Spans+sent.Spans, kept+len(sent.Denied)
		res.Errors = append(res.Errors, slices.DeleteFunc(sent.Errors, func(text string) bool { return slices.Contains(res.Errors, text) })...)
		err = errors.Join(err, p.Store.Settle(context.WithoutCancel(ctx), dst.Name, answered))
		owed = owed[n-sent.Left:]
		if sent.Left > 0 {
			break
		}
	}
	res.Waiting += kept + len(owed)
	return err
}

// stored returns the runs of a trace, none if it was deleted.
func (p *Pipeline) stored(ctx context.Context, id string) ([]*tracepb.ResourceSpans, error) {
	t, err := p.Store.Trace(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return t.ResourceSpans, nil
}

// The longest and the shortest wait of a sweep after a failure.
const (
	leastWait = 5 * time.Second
	mostWait  = 15 * time.Minute
)

// waits returns why a destination is not sent what it is owed: it has asked to wait, or the
// pass has found it down, or a sweep comes too soon after a failure, by as long as it had
// failed then.
func (p *Pipeline) waits(dst *deliver.Destination, pass deliver.Pass, res *deliver.Result) error {
	last, _ := p.setup.LastAnswer(dst.Name)
	return p.waitsAfter(last, dst, pass, res)
}

func (p *Pipeline) waitsAfter(last *deliver.Answer, dst *deliver.Destination, pass deliver.Pass, res *deliver.Result) error {
	now := p.Deliverer.Now()
	if pass.Force {
		return nil
	}
	if dst.Paused != nil && now.Before(dst.Paused()) {
		return fmt.Errorf("%s has asked to wait until %s", dst.Name, dst.Paused().Local().Format(time.DateTime))
	}
	if p.setup.ByHand || last == nil || last.Error == "" {
		return nil
	}
	wait := min(max(last.Tried.Sub(last.Taken), leastWait), mostWait)
	if since := now.Sub(last.Tried); since >= 0 && since < wait || len(res.Errors) > 0 {
		return errors.New(last.Error)
	}
	return nil
}
