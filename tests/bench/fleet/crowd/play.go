package crowd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"github.com/hookspan/hookspan/spool"
)

// Play says who sends what.
type Play struct {
	Developers int
	// Sessions are those of each developer; the recordings take turns.
	Sessions int
	// Rate is how many deliveries begin each second; 0 means as soon as another
	// has ended.
	Rate float64
	// AtOnce bounds how many run at the same time; if zero, 8.
	AtOnce int
	// Day makes one delivery of all that a developer has, as after an outage. Else
	// each session is delivered by itself, as when it ends.
	Day bool
	// First is the number of the first session: plays against the same backend
	// have separate ranges.
	First int
	// Hookspan is the program, Dir the folder for the homes.
	Hookspan, Dir string
	Settings      Settings
}

// Result is what came of it, as `loadgen` prints it.
type Result struct {
	Developers, Sessions, Events, Deliveries, Spans int
	// SpoolBytes is the size of the logs before the delivery.
	SpoolBytes int64
	// Seconds are those from the first delivery's start to the last one's end.
	Seconds float64
	// CPUSeconds are the deliveries' together, PeakKiB is that of the largest.
	CPUSeconds float64
	PeakKiB    int64
}

// Run makes the developers and delivers what they have done.
func (p *Play) Run(ctx context.Context, recordings []*Recording) (Result, error) {
	developers, r, err := p.prepare(ctx, recordings)
	if err != nil {
		return r, err
	}
	return r, p.deliver(ctx, developers, &r)
}

func (p *Play) prepare(ctx context.Context, recordings []*Recording) ([]*Developer, Result, error) {
	r := Result{Developers: p.Developers, Sessions: p.Developers * p.Sessions}
	if p.Developers < 1 || p.Sessions < 1 || p.AtOnce < 0 || p.Rate < 0 || len(p.Settings.Endpoints) == 0 {
		return nil, r, fmt.Errorf("%d developers with %d sessions each, %d at once, rate %g, %d endpoints: want at least one of each and nothing negative",
			p.Developers, p.Sessions, p.AtOnce, p.Rate, len(p.Settings.Endpoints))
	}
	developers := make([]*Developer, p.Developers)
	for n := range developers {
		d, err := Settle(p.Dir, n, p.Settings)
		if err != nil {
			return nil, r, err
		}
		for s := range p.Sessions {
			number := n*p.Sessions + s
			if err := errors.Join(ctx.Err(), d.Work(recordings[number%len(recordings)], p.First+number)); err != nil {
				return nil, r, err
			}
		}
		r.Events += d.events
		developers[n] = d
	}
	size, err := logs(p.Dir)
	r.SpoolBytes = size
	return developers, r, err
}

// logs is the size of all sessions' logs.
func logs(dir string) (size int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "events.json-seq" {
			return err
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	return size, err
}

// order is one delivery to make: of all sessions if none is named.
type order struct {
	from     *Developer
	sessions []spool.Key
}

// orders are the deliveries, each developer's next to the next developer's: a
// fleet does not end its tasks one person after the other.
func (p *Play) orders(developers []*Developer) []order {
	var all []order
	if p.Day {
		for _, d := range developers {
			all = append(all, order{from: d})
		}
		return all
	}
	for s := range p.Sessions {
		for _, d := range developers {
			all = append(all, order{d, d.sessions[s : s+1]})
		}
	}
	return all
}

func (p *Play) deliver(parent context.Context, developers []*Developer, r *Result) error {
	ctx, stop := context.WithCancel(parent)
	defer stop()
	all := p.orders(developers)
	r.Deliveries = len(all)
	todo := make(chan order)
	var mu sync.Mutex
	var errs []error
	var workers sync.WaitGroup
	atOnce := p.AtOnce
	if atOnce == 0 {
		atOnce = 8
	}
	begin := time.Now()
	for range min(atOnce, len(all)) {
		workers.Go(func() {
			for o := range todo {
				d, err := o.from.Flush(ctx, p.Hookspan, o.sessions...)
				mu.Lock()
				if err != nil {
					// The first error counts; the others would say that they were stopped.
					if len(errs) == 0 {
						errs = append(errs, err)
					}
					stop()
				}
				r.Spans += d.Spans
				r.CPUSeconds += d.CPU.Seconds()
				r.PeakKiB = max(r.PeakKiB, d.PeakKiB)
				mu.Unlock()
			}
		})
	}
	p.hand(ctx, all, todo, begin)
	workers.Wait()
	r.Seconds = time.Since(begin).Seconds()
	return errors.Join(append(errs, parent.Err())...)
}

// hand gives out the orders at the pace that was asked for.
func (p *Play) hand(ctx context.Context, all []order, todo chan<- order, begin time.Time) {
	defer close(todo)
	for i, o := range all {
		if p.Rate > 0 {
			due := time.NewTimer(time.Until(begin.Add(time.Duration(float64(i) / p.Rate * float64(time.Second)))))
			select {
			case <-due.C:
			case <-ctx.Done():
				due.Stop()
				return
			}
		}
		select {
		case todo <- o:
		case <-ctx.Done():
			return
		}
	}
}
