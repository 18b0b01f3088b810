package pipeline

import (
	"cmp"
	"context"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
)

// CommandRun is a command that `hookspan run` has run.
type CommandRun struct {
	// ID is in the events of the command's agents. A run within the run has it as the beginning
	// of its id.
	ID string
	// Began is before the command was started in the folder Dir.
	Began time.Time
	Dir   string
}

// RunDelivered is what became of a command's sessions.
type RunDelivered struct {
	// Results are those of the last delivery. They are nil if nothing was left in the spool.
	Results []deliver.Result
	// Tasks are those of the run in the local store.
	Tasks []store.Summary
	// Others are the sessions that began meanwhile in the folder or below it, but in a program that
	// is not of the command, such as a server that ran before. They were not waited for.
	Others []spool.Record
}

// DeliverRun delivers the sessions of a command that has ended, until nothing waits or the context
// ends. A task without an end has been abandoned, for its agent has ended with the command.
func (p *Pipeline) DeliverRun(ctx context.Context, run CommandRun) (out RunDelivered, err error) {
	keys, err := p.sessionsOf(run, &out)
	if err != nil {
		return out, err
	}
	for now, again := p.Deliverer.Now, true; again && len(keys) > 0; {
		if out.Results, err = p.Flush(ctx, deliver.Pass{Force: true, Wait: true, Sessions: keys}); err != nil {
			return out, err
		}
		open, err := p.Running(ctx)
		if err != nil {
			return out, err
		}
		if slices.ContainsFunc(open, run.of) {
			// As after the time in which an agent may be silent.
			p.Deliverer.Now = func() time.Time {
				return now().Add(cmp.Or(p.Deliverer.Map.IdleTimeout, otelmap.DefaultIdleTimeout) + time.Second)
			}
			continue
		}
		again = slices.ContainsFunc(out.Results, func(r deliver.Result) bool { return r.Waiting+r.Busy > 0 }) && p.Deliverer.Sleep(ctx, time.Second) == nil
	}
	if p.Store == nil {
		return out, nil
	}
	// What was delivered counts also after the time for it.
	return out, p.Store.Each(context.WithoutCancel(ctx), store.Filter{Since: run.Began, Limit: -1}, func(t *store.Trace) error {
		if run.of(t) {
			out.Tasks = append(out.Tasks, t.Summary)
		}
		return nil
	})
}

func (r *CommandRun) has(id string) bool { return id == r.ID || strings.HasPrefix(id, r.ID+".") }

func (r *CommandRun) of(t *store.Trace) bool {
	return r.has(otlp.Text(t.ResourceSpans[0].GetResource().GetAttributes(), hook.KeyRun))
}

// sessionsOf returns the sessions of a command, and adds the others.
func (p *Pipeline) sessionsOf(run CommandRun, out *RunDelivered) ([]spool.Key, error) {
	all, err := p.Deliverer.Spool.Sessions()
	if err != nil {
		return nil, err
	}
	ours := make(map[spool.Key]bool)
	for _, k := range all {
		first, ids, err := p.idsIn(k, run.Began)
		if err != nil {
			p.Deliverer.Log("run: " + err.Error())
		}
		switch {
		case slices.ContainsFunc(slices.Collect(maps.Keys(ids)), run.has):
			ours[k] = true
		case first != nil && !first.At.Before(run.Began) && ids[""] && otelmap.Below(first.Cwd, run.Dir):
			out.Others = append(out.Others, *first)
		}
	}
	return slices.Collect(maps.Keys(ours)), nil
}

// idsIn returns the first event of a session and the ids of the runs that its events are of, nothing
// for a session without an event since a time.
func (p *Pipeline) idsIn(k spool.Key, since time.Time) (first *spool.Record, ids map[string]bool, err error) {
	s, err := p.Deliverer.Spool.Session(k)
	if err != nil {
		return nil, nil, nil //nolint:nilerr // It is gone.
	}
	defer func() { _ = s.Close() }()
	if last, err := s.ModTime(); err != nil || last.Before(since) {
		return nil, nil, err
	}
	r, err := s.Reader(0)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = r.Close() }()
	ids = make(map[string]bool)
	for r.Next() {
		rec := r.Record()
		if first == nil {
			kept := *rec
			first = &kept
		}
		named, _ := url.ParseQuery(rec.Resource)
		ids[named.Get(hook.KeyRun)] = true
	}
	return first, ids, r.Err()
}
