package deliver

import (
	"context"
	"errors"
	"slices"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/spool"
)

// resend sends the runs that the destination rejected once more, in a forced pass:
// the cause, such as a wrong key, may have been fixed. Their spans come from the
// local store, since the position is behind them. A run that is refused again stays
// parked.
func (d *delivery) resend(ctx context.Context, s *spool.Session) error {
	st, err := ReadState(s, d.dst.Name)
	if err != nil || d.Stored == nil || len(st.Parked) == 0 {
		return err
	}
	var left []Parked
	var down error
	parked := st.Parked
	for i, p := range parked {
		messages, err := d.stored(ctx, p)
		if err != nil {
			d.logf("%s: trace %s cannot be sent again: %v", d.dst.Name, p.Trace, err)
			left = append(left, p)
			continue
		}
		spans, refused, err := d.export(ctx, d.dst, batches(messages, d.dst.Batch))
		if err == nil {
			d.delivered(st, p.Trace, 1, spans, refused)
			st.Parked = slices.Concat(left, parked[i+1:])
			if err := st.write(s, d.dst.Name); err != nil {
				return err
			}
			continue
		}
		d.res.fail(err)
		f := classify(err)
		if f.retry && !f.answered {
			d.res.Waiting += len(parked) - i
			left, down = append(left, parked[i:]...), errDown
			break
		}
		if f.retry {
			d.res.Waiting++
		} else {
			d.res.Parked++
			p.At, p.Error = d.Now(), err.Error()
		}
		left = append(left, p)
	}
	if len(left) == 0 {
		return nil
	}
	st.Parked = left
	return errors.Join(down, st.write(s, d.dst.Name))
}

// stored reads a refused run from the local store, without the other runs of its
// trace: the destination may have these, and one that makes a new document of each
// request would then have them twice.
func (d *delivery) stored(ctx context.Context, p Parked) ([]*tracepb.ResourceSpans, error) {
	var runs []*tracepb.ResourceSpans
	for _, ref := range append([]Ref{p.Ref}, p.Joined...) {
		messages, err := d.Stored(ctx, ref.Trace)
		if err != nil {
			return nil, err
		}
		if ref.Root != "" {
			messages = subtree(messages, ref.Root)
		}
		if otlp.Count(messages) == 0 {
			return nil, errors.New("the local store no longer has the run")
		}
		if d.dst.Join != nil {
			messages = []*tracepb.ResourceSpans{rootFirst(messages)}
		}
		runs = append(runs, messages...)
	}
	if d.dst.Join != nil {
		return []*tracepb.ResourceSpans{d.dst.Join(runs)}, nil
	}
	return otlp.Merge(runs), nil
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
