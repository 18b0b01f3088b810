package pipeline

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/files/filelock"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
)

// CommandRun is a command that `hookspan run` runs.
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
	// Results are those of the last delivery, nil if the spool had no session for it.
	Results []deliver.Result
	// Tasks are those of the run in the local store.
	Tasks []store.Summary
	// Others are the first events of the sessions that began meanwhile in the folder or below it, but
	// in a program that is not of the command, such as a server. They were not waited for.
	Others []spool.Record
}

// StartRun marks a run as one whose agents may work, until end is called or this process has ended.
func (s *Setup) StartRun(ctx context.Context, id string) (end func(), err error) {
	if s.Config.StateDir == "" {
		return nil, errors.New("there is no state folder")
	}
	dir := s.runFolder(id)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := filelock.Folder(ctx, dir)
	return func() {
		_ = os.Remove(dir)
		_ = lock.Close()
	}, err
}

func (s *Setup) runFolder(id string) string { return filepath.Join(s.Config.StateDir, "runs", id) }

// forgetKilled removes the marks of runs before and within this one that were killed: their
// sessions are delivered.
func (s *Setup) forgetKilled(run *CommandRun) {
	folders, _ := os.ReadDir(s.runFolder(""))
	for _, f := range folders {
		info, err := f.Info()
		if err == nil && (run.has(f.Name()) || info.ModTime().Before(run.Began)) && s.killed(f.Name()) {
			_ = os.Remove(s.runFolder(f.Name()))
		}
	}
}

// marked reports whether a run has not ended, or was killed.
func (s *Setup) marked(id string) bool {
	_, err := os.Lstat(s.runFolder(id))
	return hook.RunID(id) != "" && err == nil
}

// killed reports whether the process of a run has ended without its end.
func (s *Setup) killed(id string) bool {
	once, cancel := context.WithCancel(context.Background())
	cancel()
	if hook.RunID(id) == "" {
		return false
	}
	lock, err := filelock.Folder(once, s.runFolder(id))
	if err != nil {
		return false
	}
	_ = lock.Close()
	return true
}

// DeliverRun delivers the sessions of a command that has ended, and those of runs that were killed,
// until nothing waits or the context ends. Their agents have ended: so have their tasks.
func (p *Pipeline) DeliverRun(ctx context.Context, run CommandRun) (out RunDelivered, err error) {
	own, killed, err := p.sessionsOf(run, &out)
	if err == nil {
		// An agent may keep variables from its hooks. The command's are those of this process.
		out.Results, err = p.deliverEnded(ctx, deliver.Pass{Sessions: own, OtherSettings: true})
	}
	if err == nil && len(killed) > 0 {
		var left []deliver.Result
		left, err = p.deliverEnded(ctx, deliver.Pass{Sessions: killed})
		if out.Results == nil {
			out.Results = left
		}
	}
	if err == nil {
		p.setup.forgetKilled(&run)
	}
	if p.Store == nil || err != nil {
		return out, err
	}
	// What was delivered counts also after the time for it.
	return out, p.Store.Each(context.WithoutCancel(ctx), store.Filter{Ended: run.Began, Limit: -1}, func(t *store.Trace) error {
		if part := run.part(t, slices.Contains(own, spool.SessionKey(t.Host, t.Session))); part != nil {
			out.Tasks = append(out.Tasks, part.Summary)
		}
		return nil
	})
}

// part returns what a run did of a task, nil for nothing. A task that had begun before it may have
// no id or another's; it is the run's if its session is.
func (r *CommandRun) part(t *store.Trace, own bool) *store.Trace {
	since := func(s *tracepb.Span) bool { return !otlp.Start(s).Before(r.Began) }
	return store.NewTrace(otlp.Select(slices.DeleteFunc(t.ResourceSpans, func(rs *tracepb.ResourceSpans) bool {
		resumed := own && !since(rs.GetScopeSpans()[0].GetSpans()[0])
		return !resumed && !r.has(otlp.Text(rs.GetResource().GetAttributes(), hook.KeyRun))
	}), since))
}

// deliverEnded delivers sessions whose agents have ended.
func (p *Pipeline) deliverEnded(ctx context.Context, pass deliver.Pass) (out []deliver.Result, err error) {
	pass.Force, pass.Wait = true, true
	now := p.Deliverer.Now
	defer func() { p.Deliverer.Now = now }()
	for again := len(pass.Sessions) > 0; again; {
		results, err := p.Flush(ctx, pass)
		if err != nil && out != nil {
			return out, nil // At the end of the time the last results count.
		}
		open, failed := p.Running(ctx)
		if err := cmp.Or(err, failed); err != nil {
			return nil, err
		}
		for i := range p.Deliverer.Destinations { // Metrics are behind them.
			// What another process was refused meanwhile is in no result.
			waiting, err := p.Deliverer.Waiting(ctx, &p.Deliverer.Destinations[i], pass.Sessions...)
			if err != nil {
				return nil, err
			}
			results[i].Parked = max(results[i].Parked, len(waiting)-results[i].Waiting)
		}
		out = results
		if slices.ContainsFunc(open, func(t *store.Trace) bool { return slices.Contains(pass.Sessions, spool.SessionKey(t.Host, t.Session)) }) {
			// As after the time for which an agent may be silent.
			p.Deliverer.Now = func() time.Time {
				return now().Add(cmp.Or(p.Deliverer.Map.IdleTimeout, otelmap.DefaultIdleTimeout) + time.Second)
			}
			continue
		}
		again = slices.ContainsFunc(out, func(r deliver.Result) bool { return r.Waiting+r.Busy > 0 }) && p.Deliverer.Sleep(ctx, time.Second) == nil
	}
	return out, nil
}

func (r *CommandRun) has(id string) bool { return id == r.ID || strings.HasPrefix(id, r.ID+".") }

// sessionsOf returns the sessions of a command and of those that were killed, and adds the others.
func (p *Pipeline) sessionsOf(run CommandRun, out *RunDelivered) (own, killed []spool.Key, err error) {
	all, err := p.Deliverer.Spool.Sessions()
	for _, k := range all {
		first, ids, err := p.idsIn(k, run.Began)
		if err != nil {
			p.Deliverer.Log("run: " + err.Error())
		}
		switch {
		case slices.ContainsFunc(ids, run.has):
			own = append(own, k)
		case slices.ContainsFunc(ids, p.setup.killed):
			killed = append(killed, k)
		case first != nil && !first.At.Before(run.Began) && !slices.ContainsFunc(ids, p.setup.marked) && otelmap.Below(first.Cwd, run.Dir):
			out.Others = append(out.Others, *first)
		}
	}
	return own, killed, err
}

// tail is how much of a log is read that has had no event since the command's start.
const tail = 256 << 10

// idsIn returns the first event that it reads of a session, and the ids of the runs that its events are of.
func (p *Pipeline) idsIn(k spool.Key, since time.Time) (first *spool.Record, ids []string, err error) {
	s, err := p.Deliverer.Spool.Session(k)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = s.Close() }()
	last, err := s.ModTime()
	if err != nil {
		return nil, nil, err
	}
	size := int64(tail)
	if !last.Before(since) {
		size, err = s.Size()
	}
	if err != nil {
		return nil, nil, err
	}
	r, _, err := s.Tail(size)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = r.Close() }()
	found := make(map[string]bool)
	for r.Next() {
		rec := r.Record()
		first = cmp.Or(first, &spool.Record{Host: rec.Host, Session: rec.Session, At: rec.At, Cwd: rec.Cwd})
		named, _ := url.ParseQuery(rec.Resource)
		found[named.Get(hook.KeyRun)] = true
	}
	return first, slices.Collect(maps.Keys(found)), r.Err()
}
