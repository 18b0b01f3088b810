package deliver

import (
	"context"
	"errors"
	"slices"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/hookspan/hookspan/spool"
)

// resend sends what a destination rejected once more, when a person
// asks for it: the cause, such as a wrong key, may have been mended. The spans
// come from the local store, since the session's log has moved on. What is
// refused again stays parked.
func (d *Deliverer) resend(ctx context.Context, dst *Destination, s *spool.Session, res *Result) error {
	st, err := ReadState(s, dst.Name)
	if err != nil {
		return err
	}
	if d.Stored == nil || len(st.Parked) == 0 {
		return nil
	}
	var left []Parked
	var down error
	parked := st.Parked
	for i, p := range parked {
		spans, err := d.stored(ctx, dst, p)
		if err != nil {
			d.logf("%s: trace %s cannot be sent again: %v", dst.Name, p.Trace, err)
			left = append(left, p)
			continue
		}
		refused, err := d.export(ctx, dst, spans)
		if retry, _ := classify(err); err != nil && retry {
			res.fail(err)
			if answered(err) {
				res.Waiting++
				left = append(left, p)
				continue
			}
			res.Waiting += len(parked) - i
			left, down = append(left, parked[i:]...), errDown
			break
		}
		if err == nil && refused.spans >= len(spans) {
			err = refused.why
		}
		if err != nil {
			p.At, p.Error = d.Now(), err.Error()
			left = append(left, p)
			res.Parked++
			res.fail(err)
			continue
		}
		st.delivered(1, len(spans), refused.spans)
		res.Runs++
		res.Spans += len(spans) - refused.spans
		st.Parked = slices.Concat(left, parked[i+1:])
		if err := st.write(s, dst.Name); err != nil {
			return err
		}
	}
	if len(left) > 0 {
		st.Parked = left
		return errors.Join(down, st.write(s, dst.Name))
	}
	return down
}

// stored reads a refused run back, without the other runs of its trace: these
// may have been accepted, and a destination that makes a new document of each
// request would hold them twice.
func (d *Deliverer) stored(ctx context.Context, dst *Destination, p Parked) (tracetest.SpanStubs, error) {
	var runs []tracetest.SpanStubs
	for _, ref := range append([]Ref{p.Ref}, p.Joined...) {
		spans, err := d.Stored(ctx, ref.Trace)
		if err != nil {
			return nil, err
		}
		if ref.Root != "" {
			if spans = subtree(spans, ref.Root); len(spans) == 0 {
				return nil, errors.New("the local store no longer has the run")
			}
		}
		runs = append(runs, spans)
	}
	if dst.Join != nil {
		for i := range runs {
			rootFirst(runs[i])
		}
		return dst.Join(runs), nil
	}
	return slices.Concat(runs...), nil
}

// rootFirst puts the run's root before its other spans, as the mapping does: the
// one span whose parent is not among them.
func rootFirst(spans tracetest.SpanStubs) {
	own := make(map[trace.SpanID]bool, len(spans))
	for i := range spans {
		own[spans[i].SpanContext.SpanID()] = true
	}
	i := slices.IndexFunc(spans, func(s tracetest.SpanStub) bool { return !own[s.Parent.SpanID()] })
	if i > 0 {
		root := spans[i]
		copy(spans[1:i+1], spans[:i])
		spans[0] = root
	}
}

// subtree are the spans that are the root or have it above them.
func subtree(spans tracetest.SpanStubs, root string) tracetest.SpanStubs {
	parents := make(map[trace.SpanID]trace.SpanID, len(spans))
	for i := range spans {
		parents[spans[i].SpanContext.SpanID()] = spans[i].Parent.SpanID()
	}
	var out tracetest.SpanStubs
	for i := range spans {
		id, ok := spans[i].SpanContext.SpanID(), true
		// No chain is longer than there are spans, unless it is a ring.
		for range len(spans) {
			if !ok || id.String() == root {
				break
			}
			id, ok = parents[id]
		}
		if ok && id.String() == root {
			out = append(out, spans[i])
		}
	}
	return out
}
