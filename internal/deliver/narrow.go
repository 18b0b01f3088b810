package deliver

import (
	"cmp"
	"iter"
	"slices"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/otelmap/step"
)

// A destination may get less of the texts than the store: by this process's settings for it,
// Destination.Capture, and by those of the process that recorded a run, Terms.Less. Runs are
// mapped once for all destinations and narrowed for each.

// Narrow leaves out the texts that a destination with a capture does not get; "" leaves out
// none. The argument is not changed.
func (d *Deliverer) Narrow(to otelmap.Capture, messages []*tracepb.ResourceSpans) []*tracepb.ResourceSpans {
	if to == "" {
		return messages
	}
	host := ""
	for s := range otlp.Spans(messages) {
		host = step.Of(s).Host()
		if host != "" {
			break
		}
	}
	return d.narrowed(host, to, messages)
}

func (d *Deliverer) narrowed(host string, to otelmap.Capture, messages []*tracepb.ResourceSpans) []*tracepb.ResourceSpans {
	o := d.Map
	o.Capture, o.Agent = to, d.Sources[host].Agent
	out := make([]*tracepb.ResourceSpans, len(messages))
	for i, m := range messages {
		out[i] = o.Narrow(m)
	}
	return out
}

// less returns the captures by destination under which a run's events were recorded, nil if
// there are none.
func (p *reading) less(r *otelmap.Run) map[string]otelmap.Capture {
	if !slices.ContainsFunc(p.terms, func(t termsFrom) bool { return len(t.less) > 0 }) {
		return nil
	}
	out := make(map[string]otelmap.Capture)
	for at := range r.Offsets {
		for name, capture := range p.termsAt(at).less {
			out[name] = stricter(out[name], capture)
		}
	}
	return out
}

// termsAt returns the settings of the record at an offset.
func (p *reading) termsAt(at int64) termsFrom {
	n, found := slices.BinarySearchFunc(p.terms, at, func(t termsFrom, at int64) int { return cmp.Compare(t.offset, at) })
	if !found {
		n--
	}
	if n < 0 {
		return termsFrom{here: true}
	}
	return p.terms[n]
}

// stricter returns the stricter one of two captures; one that is not set is the widest.
func stricter(a, b otelmap.Capture) otelmap.Capture {
	if a == "" || b != "" && b.Stricter(a) {
		return b
	}
	return a
}

// narrow returns a run with the texts that the destination gets.
func (d *delivery) narrow(r prepared) prepared {
	to := stricter(d.dst.Capture, r.less[d.dst.Name])
	if to == "" {
		return r
	}
	narrowed := func(of func() *tracepb.ResourceSpans) func() *tracepb.ResourceSpans {
		if of == nil {
			return nil
		}
		return func() *tracepb.ResourceSpans {
			return d.narrowed(r.host, to, []*tracepb.ResourceSpans{of()})[0]
		}
	}
	r.spans, r.fresh = narrowed(r.spans), narrowed(r.fresh)
	if long := r.batches; long != nil {
		r.batches = func(size int) iter.Seq[[]*tracepb.ResourceSpans] {
			return func(yield func([]*tracepb.ResourceSpans) bool) {
				for batch := range long(size) {
					if !yield(d.narrowed(r.host, to, batch)) {
						return
					}
				}
			}
		}
	}
	return r
}
