package deliver

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/spool"
)

// resend sends the runs that were set aside once more: in a forced pass all of them,
// since the cause, such as a wrong key, may have been fixed, else those that are due.
// They are mapped from the log again, so that they pass what every run passes: the
// settings of their records, and those of this process.
func (d *delivery) resend(ctx context.Context, s *spool.Session) error {
	st, err := ReadState(s, d.dst.Name)
	if err != nil || len(st.Parked) == 0 {
		return err
	}
	again := d.again(st)
	if len(again) == 0 {
		return nil
	}
	for _, p := range slices.Clone(st.Parked) {
		if !again[p.Root] {
			continue
		}
		delete(again, p.Root)
		found, err := d.resendPart(ctx, s, st, &p)
		if err != nil {
			d.res.Waiting += len(again)
			return err
		}
		if !found {
			d.logf("%s: trace %s cannot be sent again: the log no longer has the run", d.dst.Name, p.Trace)
			left := st.parked(p.Root)
			left.Elsewhere, left.NextTry = false, time.Time{}
		}
	}
	return st.write(s, d.dst.Name)
}

// resendPart sends a run that was set aside, or what late events change in it. found is false if
// the log does not have it.
func (d *delivery) resendPart(ctx context.Context, s *spool.Session, st *State, p *Parked) (found bool, err error) {
	var runs []prepared
	for _, ref := range p.refs() {
		of, found, err := d.mapAgain(ctx, s, st, ref, p.Late)
		if err != nil || !found {
			return false, err
		}
		runs = append(runs, of...)
	}
	if len(runs) == 0 {
		// Without the late events the run is what the destination has.
		st.taken(p.Root, p.Run)
		return true, nil
	}
	runs, foreign := d.divide(runs)
	if len(foreign) > 0 {
		d.elsewhere()
		return true, nil
	}
	if d.dst.Join != nil {
		runs = join(runs, d.dst.Join)
	}
	return true, d.sendAgain(ctx, s, st, p.Root, runs)
}

// taken removes a run that was set aside. What came for it that the index does not have yet is
// late again.
func (st *State) taken(root string, ids ...string) {
	st.Parked = slices.DeleteFunc(st.Parked, func(p Parked) bool { return p.Root == root })
	for _, id := range ids {
		delete(st.Late, id)
	}
}

// again returns the roots of the runs that were set aside and are due. It counts the others
// that wait.
func (d *delivery) again(st *State) map[string]bool {
	out := make(map[string]bool)
	paused := d.down || d.paused(st)
	taken := sync.OnceValue(func() (at time.Time) {
		if d.dst.Taken != nil {
			at = d.dst.Taken()
		}
		return at
	})
	for i := range st.Parked {
		p := &st.Parked[i]
		// After another run was taken, a refused credential may be right. Each further
		// refusal makes the wait longer.
		due := d.pass.Force || p.Elsewhere || !p.NextTry.IsZero() && !d.early(p.NextTry) || p.Denied && taken().After(p.At) && !d.early(p.At.Add(backoff(p.Attempts, 0)))
		switch {
		case !d.dst.Local && !d.pass.OtherSettings && !d.here(p.Settings):
			d.elsewhere()
		case due && !paused:
			out[p.Root] = true
		case due || !p.NextTry.IsZero():
			d.res.Waiting++
		}
	}
	return out
}

// sendAgain sends a run that was set aside, once. If it is refused again, it stays.
func (d *delivery) sendAgain(ctx context.Context, s *spool.Session, st *State, root string, runs []prepared) (err error) {
	p := st.parked(root)
	if !d.pass.Force && d.failures >= maxFailures || d.denials >= maxFailures {
		d.res.Waiting++
		return nil
	}
	if err := d.first(s, st, 1); err != nil {
		return err
	}
	note := func() error { return st.write(s, d.dst.Name) }
	var spans int
	var refused refusal
	for q := (queue{runs: runs, most: d.dst.Batch, bytes: d.bytes(st)}); err == nil && q.next(); {
		spans, refused, err = d.exportRun(ctx, st, &runs[q.at], &q, note)
	}
	f := classify(err)
	switch {
	case err != nil && ctx.Err() != nil:
		d.res.Waiting++
		return ctx.Err()
	case err == nil:
		d.failures, d.denials = 0, 0
		d.delivered(st, &runs[0], 1, spans, refused)
		var ids []string
		for _, r := range runs {
			for _, id := range r.ids {
				ids = append(ids, id.String())
			}
		}
		st.taken(root, ids...)
	case f.retry && !f.answered:
		d.res.Waiting++
		err = d.stop(st, p.Trace, err, f)
		return errors.Join(err, note())
	default:
		d.failures++
		if f.denied {
			d.denials++
		}
		d.setAside(p, err, f, refused.all)
	}
	return note()
}

// subtree returns the spans that are the root or have it above them.
func subtree(messages []*tracepb.ResourceSpans, root string) []*tracepb.ResourceSpans {
	parents := make(map[string]string)
	for s := range otlp.Spans(messages) {
		parents[otlp.SpanID(s)] = otlp.ParentID(s)
	}
	return otlp.Select(messages, func(s *tracepb.Span) bool {
		id := otlp.SpanID(s)
		// The bound ends a cycle of parents.
		for range len(parents) {
			if id == root {
				break
			}
			id = parents[id]
		}
		return id == root
	})
}

// rootFirst returns a run as the mapping makes it: one message with one scope, and
// first the root, the span whose parent is not in the run.
func rootFirst(messages []*tracepb.ResourceSpans) *tracepb.ResourceSpans {
	spans := slices.Collect(otlp.Spans(messages))
	known := make(map[string]bool, len(spans))
	for _, s := range spans {
		known[string(s.GetSpanId())] = true
	}
	if i := slices.IndexFunc(spans, func(s *tracepb.Span) bool { return !known[string(s.GetParentSpanId())] }); i > 0 {
		root := spans[i]
		spans = slices.Insert(slices.Delete(spans, i, i+1), 0, root)
	}
	first := otlp.Merge(messages)[0]
	return &tracepb.ResourceSpans{
		Resource: first.GetResource(), SchemaUrl: first.GetSchemaUrl(),
		ScopeSpans: []*tracepb.ScopeSpans{{
			Scope: first.GetScopeSpans()[0].GetScope(), SchemaUrl: first.GetScopeSpans()[0].GetSchemaUrl(), Spans: spans,
		}},
	}
}
