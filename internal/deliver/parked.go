package deliver

import (
	"context"
	"errors"
	"slices"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/spool"
)

// resend sends what a destination rejected once more, when a person
// asks for it: the cause, such as a wrong key, may have been mended. The spans
// come from the local store, since the session's log has moved on. What is
// refused again stays parked.
func (d *delivery) resend(ctx context.Context, s *spool.Session) error {
	st, err := ReadState(s, d.dst.Name)
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
		messages, err := d.stored(ctx, p)
		if err != nil {
			d.logf("%s: trace %s cannot be sent again: %v", d.dst.Name, p.Trace, err)
			left = append(left, p)
			continue
		}
		refused, err := d.export(ctx, d.dst, messages)
		spans := otlp.Count(messages)
		if retry, _ := classify(err); err != nil && retry {
			d.res.fail(err)
			if answered(err) {
				d.res.Waiting++
				left = append(left, p)
				continue
			}
			d.res.Waiting += len(parked) - i
			left, down = append(left, parked[i:]...), errDown
			break
		}
		if err == nil && refused.spans >= spans {
			err = refused.why
		}
		if err != nil {
			p.At, p.Error = d.Now(), err.Error()
			left = append(left, p)
			d.res.Parked++
			d.res.fail(err)
			continue
		}
		st.delivered(1, spans, refused.spans)
		d.res.Runs++
		d.res.Spans += spans - refused.spans
		st.Parked = slices.Concat(left, parked[i+1:])
		if err := st.write(s, d.dst.Name); err != nil {
			return err
		}
	}
	if len(left) > 0 {
		st.Parked = left
		return errors.Join(down, st.write(s, d.dst.Name))
	}
	return down
}

// stored reads a refused run back, without the other runs of its trace: these
// may have been accepted, and a destination that makes a new document of each
// request would hold them twice.
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
		// No chain is longer than there are spans, unless it is a ring.
		for range len(parents) {
			if id == root {
				break
			}
			id = parents[id]
		}
		return id == root
	})
}

// rootFirst returns a run as the mapping makes it: one message with one scope, the
// root, which is the span whose parent is not in the run, before the other spans.
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
