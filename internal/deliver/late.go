package deliver

import (
	"context"
	"slices"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
)

// lateMark is before a run's id in State.Done if its late events were delivered, and
// the position is not yet behind them.
const lateMark = "late:"

// mapLate maps what events that were stored after their run was delivered change in it.
// Hooks that run at the same time store their events in any order, and one that is slow
// can store its event after the run's end was delivered. The run is mapped twice, with
// the late events and without: the difference is what no destination has.
func (p *reading) mapLate(ctx context.Context, s *spool.Session) error {
	mark := max(p.st.Read, p.st.Offset)
	late := func(at int64) bool { return at >= mark }
	base := Place{p.st.Offset, p.st.Carry}
	switch {
	case slices.ContainsFunc(p.builder.Late(), late):
		if base = p.st.start(); p.st.Before != nil {
			base = *p.st.Before
		}
	case !p.lateDone:
		return nil
	}
	var now, then *reading
	for {
		var err error
		if now, err = p.reread(s, base, p.size); err != nil || now.builder == nil {
			return err
		}
		now.builder.Runs(p.Now())
		if base.Offset == 0 || !slices.ContainsFunc(now.builder.Late(), late) {
			break
		}
		base = p.st.start()
	}
	then, err := p.reread(s, base, mark)
	if err != nil || then.builder == nil {
		return err
	}
	var tr *hook.Transcript
	if p.src.Transcript != nil {
		// What was not read of the files is missing in both.
		tr, _ = p.src.Transcript(ctx, p.session, now.facts)
	}
	if tr != nil {
		now.builder.ApplyRefusals(tr.Ends)
		then.builder.ApplyRefusals(tr.Ends)
	}
	before := then.builder.Runs(p.Now())
	for _, r := range now.builder.Runs(p.Now()) {
		id := r.ID.String()
		i := slices.IndexFunc(before, func(o *otelmap.Run) bool { return o.ID == r.ID })
		if i < 0 || !r.Ended || !r.Since(mark) || p.st.Done[lateMark+id] || !p.st.Done[id] && !slices.Contains(p.st.Carry.Recent, id) {
			continue
		}
		run := prepared{ids: []otelmap.RunID{r.ID}}
		run.Trace, run.Root = now.builder.Root(r)
		if p.forgotten[run.Trace] {
			continue
		}
		settings, here := now.place(r)
		run.settings, run.elsewhere = settings, !here
		old := make(map[string]*tracepb.Span)
		for span := range otlp.Spans([]*tracepb.ResourceSpans{then.builder.Spans(before[i], tr)}) {
			old[otlp.SpanID(span)] = span
		}
		all := []*tracepb.ResourceSpans{now.builder.Spans(r, tr)}
		differs := func(span *tracepb.Span) bool { return !proto.Equal(old[otlp.SpanID(span)], span) }
		fresh := otlp.Select(all, func(span *tracepb.Span) bool { return old[otlp.SpanID(span)] == nil })
		changed := otlp.Select(all, differs)
		if len(changed) == 0 {
			continue
		}
		run.spans = func() *tracepb.ResourceSpans { return now.clean(changed[0]) }
		run.fresh = func() *tracepb.ResourceSpans {
			if len(fresh) == 0 {
				return &tracepb.ResourceSpans{}
			}
			return now.clean(fresh[0])
		}
		p.runs, p.late = append(p.runs, run), append(p.late, id)
	}
	return nil
}

// reread reads the part of the log between a place and an offset.
func (p *reading) reread(s *spool.Session, from Place, to int64) (*reading, error) {
	r, err := s.Reader(from.Offset)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	q := p.reading(p.key, &State{Session: p.session, Offset: from.Offset, Carry: from.Carry, Repository: p.st.Repository})
	return q, q.read(r, max(0, to-from.Offset))
}
