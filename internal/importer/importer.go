package importer

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/store"
	"github.com/hookspan/hookspan/internal/transcript"
	"github.com/hookspan/hookspan/otelmap"
)

// Session is one of the agent's sessions on this machine.
type Session struct {
	transcript.Session
	// Read reads the session's files. With an error the session is not imported.
	Read func(ctx context.Context) (*hook.Transcript, error)
}

// Known returns the runs that are stored on this machine.
type Known interface {
	// Conversation returns the roots of one session's runs.
	Conversation(ctx context.Context, session string) ([]store.Root, error)
	// Beside returns the roots of the runs in a place and time.
	Beside(ctx context.Context, p store.Place) ([]store.Root, error)
}

// Importer sends the runs of the past.
type Importer struct {
	// Agent is the agent whose sessions are imported.
	Agent transcript.Agent
	// Deliverer provides mapping, redaction, destinations, spool and clock. The
	// local store must be the last of the destinations: a trace in it counts as
	// one that the others have too.
	Deliverer *deliver.Deliverer
	// Known is the local store. If nil, nothing is known, and each import sends
	// everything.
	Known Known
	// Off reports that recording is switched off for a directory. If nil, it is
	// on for all.
	Off func(dir string) bool
	// Since leaves out what ended before it; if zero, nothing.
	Since time.Time
	// Again imports what the local store had and has removed.
	Again bool
	// Retention is how long the local store keeps a trace; if zero, for ever.
	Retention time.Duration
	// DryRun sends nothing.
	DryRun bool
	// Progress is called after each session; it may be nil.
	Progress func()
}

// Run imports the sessions, one after another. Problems of a session or a
// destination are in the report; the error is about the store, the spool or ctx,
// and ends the import. The report then covers the sessions before it.
func (im *Importer) Run(ctx context.Context, sessions []Session) (*Report, error) {
	rep := newReport(im.Agent.Host, im.DryRun, im.Deliverer.Destinations)
	for i := range sessions {
		if err := ctx.Err(); err != nil {
			return rep, err
		}
		if err := im.session(ctx, &sessions[i], rep); err != nil {
			return rep, err
		}
		if im.Progress != nil {
			im.Progress()
		}
	}
	rep.KeptUntil = im.keptUntil(rep)
	return rep, ctx.Err()
}

// keptUntil is when the local store may remove what was imported into it; zero
// if it never does, or if nothing was.
func (im *Importer) keptUntil(rep *Report) time.Time {
	stored := slices.ContainsFunc(im.Deliverer.Destinations, func(d deliver.Destination) bool { return d.Name == storeName })
	if im.Retention <= 0 || rep.Runs == 0 || !stored {
		return time.Time{}
	}
	return im.Deliverer.Now().Add(im.Retention)
}

// session imports one session.
func (im *Importer) session(ctx context.Context, s *Session, rep *Report) error {
	if s.ModTime.Before(im.Since) {
		return nil
	}
	if im.off(s.Cwd) {
		rep.Skipped.SwitchedOff++
		return nil
	}
	tr, err := s.Read(ctx)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil || tr == nil:
		rep.unreadable(s, err)
		return nil
	}
	rep.Sessions++
	if tr.Cwd == "" {
		tr.Cwd = s.Cwd
	} else if tr.Cwd != s.Cwd && im.off(tr.Cwd) {
		rep.Skipped.SwitchedOff++
		return nil
	}
	tr.Session = s.ID
	o := im.Deliverer.Map
	o.Agent = im.Deliverer.Sources[im.Agent.Host].Agent
	b := otelmap.NewBuilder(im.Agent.Host, s.ID, o, otelmap.Carry{})
	for _, e := range im.Agent.Events(s.Dialect, tr) {
		b.Add(e)
	}
	return im.runs(ctx, s, tr, b, rep)
}

func (im *Importer) off(dir string) bool { return dir != "" && im.Off != nil && im.Off(dir) }

// runs sends those of a session's runs that are to be imported.
func (im *Importer) runs(ctx context.Context, s *Session, tr *hook.Transcript, b *otelmap.Builder, rep *Report) error {
	now := im.Deliverer.Now()
	runs := b.Runs(now)
	if len(runs) == 0 {
		return nil
	}
	seen, err := im.seen(ctx, s)
	if err != nil {
		return err
	}
	if seen.err != nil {
		rep.unreadable(s, seen.err)
		return nil
	}
	for _, r := range runs {
		trace, _ := b.Root(r)
		seen.ours[trace] = true
	}
	// A destination that takes a session as one waits for its end.
	joint := slices.ContainsFunc(im.Deliverer.Destinations, func(d deliver.Destination) bool { return d.Join != nil })
	over := b.Finished(now)
	idle := cmp.Or(im.Deliverer.Map.IdleTimeout, otelmap.DefaultIdleTimeout)
	var due []*tracepb.ResourceSpans
	for i, r := range runs {
		last := i == len(runs)-1
		if err := ctx.Err(); err != nil {
			return err
		}
		if r.EndedAt.Before(im.Since) {
			rep.Skipped.TooOld++
			continue
		}
		if !r.Ended || joint && !over || last && tr.Pending && now.Sub(r.EndedAt) < idle {
			rep.Skipped.Open++
			continue
		}
		run := b.Spans(r, tr)
		root := run.GetScopeSpans()[0].GetSpans()[0]
		why, err := seen.judge(ctx, root, r.EndedAt)
		switch {
		case err != nil:
			return err
		case why == isStored:
			rep.Skipped.AlreadyThere++
			continue
		case why == isCaptured:
			rep.Skipped.Captured++
			continue
		case why == isRemoved:
			rep.Skipped.Removed++
			continue
		}
		seen.add(root)
		rep.found(s.ID, run, root)
		if im.DryRun {
			continue
		}
		run = im.Deliverer.Clean(run)
		if joint {
			due = append(due, run)
			continue
		}
		if err := im.send(ctx, []*tracepb.ResourceSpans{run}, rep); err != nil {
			return err
		}
	}
	if len(due) == 0 {
		return nil
	}
	return im.send(ctx, due, rep)
}

// storeName is the destination that says what need not be sent again.
const storeName = "store"

// send hands runs to the destinations. The local store gets a run only when
// every other has answered for it, so that the next import finds what is left.
func (im *Importer) send(ctx context.Context, runs []*tracepb.ResourceSpans, rep *Report) error {
	answered := true
	for i := range im.Deliverer.Destinations {
		dst, res := &im.Deliverer.Destinations[i], &rep.Destinations[i]
		if dst.Name == storeName && !answered {
			res.Waiting += len(runs)
			continue
		}
		group := runs
		if dst.Join != nil {
			group = []*tracepb.ResourceSpans{dst.Join(runs)}
		}
		for _, run := range group {
			if err := im.sendOne(ctx, dst, run, res); err != nil {
				return err
			}
		}
		answered = answered && !res.down
	}
	return nil
}

// sendOne sends one run to one destination. The error is ctx's alone.
func (im *Importer) sendOne(ctx context.Context, dst *deliver.Destination, run *tracepb.ResourceSpans, res *Delivered) error {
	if res.down {
		res.Waiting++
		return nil
	}
	messages := []*tracepb.ResourceSpans{run}
	spans, trace := otlp.Count(messages), otlp.TraceID(run.GetScopeSpans()[0].GetSpans()[0])
	refused, err := im.Deliverer.Send(ctx, dst, messages)
	switch {
	case err != nil && ctx.Err() != nil:
		res.Waiting++
		return ctx.Err()
	case err != nil && deliver.Retryable(err):
		res.down = true
		res.Waiting++
		res.fail(err)
	case err != nil:
		res.Refused++
		res.fail(fmt.Errorf("trace %s: %w", trace, err))
	default:
		res.Runs++
		res.Spans += spans - refused
		if refused > 0 {
			res.fail(fmt.Errorf("trace %s: %d of %d spans rejected", trace, refused, spans))
		}
	}
	return nil
}
