package deliver

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math"
	"slices"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
)

// stretch is a part of the log. beyond is how many records behind it are read too: they show
// how the next run begins.
type stretch struct {
	from, to int64
	beyond   int
}

// beyondRun is stretch.beyond for a run.
const beyondRun = 8

// part is what is read of a log to map a run again.
type part struct {
	carry     otelmap.Carry
	stretches []stretch
	// run is the run's id if it is known, turn that of the first part of its turn, late are the places
	// of late events.
	run, turn string
	late      []int64
}

// until is the log from a place to an offset.
func (p Place) until(to int64) part {
	return part{carry: p.Carry, stretches: []stretch{{p.Offset, to, 0}}}
}

// all is the log from a place on.
func (p Place) all() part { return p.until(math.MaxInt64) }

// parts returns what to read for the runs of lines with one id, the newest first, and the places of
// their late events.
func (x *index) parts(lines []*indexLine) (out []part, late []int64, err error) {
	for _, l := range slices.Backward(lines) {
		if l.Late > 0 {
			late = append(late, l.Late)
			continue
		}
		if l.Before == nil {
			continue
		}
		c, err := x.before(l)
		if err != nil {
			return nil, nil, err
		}
		out = append(out, part{carry: c, stretches: []stretch{{l.From, l.To, beyondRun}}, run: l.Run, turn: l.ID})
	}
	return out, late, nil
}

// with adds late events to a part.
func (of part) with(late []int64) part {
	of.late = late
	for _, at := range late {
		if at >= of.stretches[0].from {
			of.stretches = append(of.stretches, stretch{at, at + 1, 0})
		}
	}
	slices.SortStableFunc(of.stretches, func(a, b stretch) int { return cmp.Compare(a.from, b.from) })
	return of
}

// earlier returns the late events of a part that are of an earlier part of the turn.
func (p *reading) earlier(of part) []int64 {
	return slices.DeleteFunc(slices.Clone(of.late), func(at int64) bool {
		return at >= of.stretches[0].from && !slices.ContainsFunc(p.builder.Late(), func(m otelmap.Missed) bool { return m.Offset == at })
	})
}

// reread reads a part of the log up to an offset.
func (p *reading) reread(ctx context.Context, s *spool.Session, of part, to int64) (*reading, error) {
	q := p.reading(p.key, &State{Session: p.session, Offset: of.stretches[0].from, Carry: of.carry})
	at := int64(0)
	for _, part := range of.stretches {
		if part.to <= at {
			continue
		}
		at = max(at, part.from)
		if at >= to {
			break
		}
		r, err := s.Reader(at)
		if err != nil {
			return nil, err
		}
		for beyond := part.beyond; err == nil && r.Offset() < to && (r.Offset() < part.to || beyond > 0) && r.Next(); {
			if r.Record().Offset >= part.to {
				beyond--
				if q.continues(r.Record(), of) {
					continue
				}
			}
			err = q.add(r.Record())
		}
		at = r.Offset()
		if err = errors.Join(err, r.Err(), r.Close()); err != nil {
			return nil, err
		}
	}
	if q.builder != nil && of.carry.Runs == 0 {
		q.link(ctx)
	}
	if w, err := readWhereabouts(s); q.builder != nil && err == nil {
		w.tell(q.builder)
	}
	return q, nil
}

// continues reports that a record behind a run is of a later part of its turn. Remarks are the run's.
// What names no turn is, too, unless a turn begins with it or the session ends.
func (p *reading) continues(rec *spool.Record, of part) bool {
	events, _ := p.src.Decode(rec) // else it is of no run
	return !slices.Contains(of.late, rec.Offset) && slices.ContainsFunc(events, func(e hook.Event) bool {
		switch e.Kind {
		case hook.KindNotification, hook.KindNote, hook.KindCompact:
			return false
		case hook.KindToolStart, hook.KindToolEnd, hook.KindRequestError, hook.KindRunComplete, hook.KindRunError, hook.KindRunCancel:
			// Where runs are tasks, work shows that the next one begins.
			if e.Turn == "" && e.ParentAgent == "" && (p.src.Agent.Turns || e.Kind.Terminal()) {
				return true
			}
		}
		return e.Turn != "" && otelmap.TurnKey(p.host, p.session, e.Turn).String() == of.turn
	})
}

// mapLate maps what events that were stored after their run was delivered change in it.
// Hooks that run at the same time store their events in any order, and one that is slow
// can store its event after the run's end was delivered. The run is mapped twice, with
// the late events and without: the difference is what no destination has.
func (p *reading) mapLate(ctx context.Context, s *spool.Session) error {
	mark := max(p.st.Read, p.st.Offset)
	x := p.st.index(s)
	defer x.close()
	guessed, err := p.sortLate(x, mark)
	if err != nil && !errors.Is(err, errIndex) {
		return err
	}
	p.lost = err != nil
	if p.lateDone || len(p.missed) > 0 {
		p.locate(ctx, s, nil, p.unsure(ctx))
	}
	for ids := slices.Collect(maps.Keys(p.missed)); len(ids) > 0; {
		// The newest first: what is of none of its parts is of the run before.
		id := slices.MaxFunc(ids, func(a, b string) int { return cmp.Compare(x.newest(a), x.newest(b)) })
		ids = slices.DeleteFunc(ids, func(o string) bool { return o == id })
		lines, err := x.all(id)
		var parts []part
		var late []int64
		if err == nil {
			parts, late, err = x.parts(lines)
		}
		p.lost = p.lost || err != nil
		late = append(late, p.missed[id]...)
		for _, of := range parts {
			if len(late) > 0 && err == nil {
				late, err = p.addLate(ctx, s, nil, of.with(late), mark, func(r *otelmap.Run) bool {
					// Parts that overlap are read together: the event may be of either.
					return slices.ContainsFunc(parts, func(o part) bool { return o.run == r.ID.String() && o.stretches[0] == of.stretches[0] })
				})
			}
		}
		earlier := func(at int64) bool { return slices.Contains(late, at) && slices.Contains(guessed, at) }
		if before := x.runBefore(lines); err == nil && before != "" && slices.ContainsFunc(p.missed[id], earlier) {
			for _, at := range p.missed[id] {
				if earlier(at) {
					p.missed[before] = append(p.missed[before], at)
				}
			}
			p.missed[id] = slices.DeleteFunc(p.missed[id], earlier)
			ids = append(slices.DeleteFunc(ids, func(o string) bool { return o == before }), before)
		}
		if err != nil && !errors.Is(err, errIndex) {
			return err
		}
	}
	if p.lost {
		if _, err := p.addLate(ctx, s, nil, p.st.start().all(), mark, func(r *otelmap.Run) bool { return !p.known[r.ID.String()] }); err != nil {
			return err
		}
	}
	if p.lateDone {
		_, err = p.addLate(ctx, s, p, Place{p.st.Offset, p.st.Carry}.all(), mark, func(r *otelmap.Run) bool { return p.st.Done[r.ID.String()] })
		return err
	}
	return nil
}

// sortLate finds the runs of the new events of runs before the position. guessed are the events that do not
// say of which run they are.
func (p *reading) sortLate(x *index, mark int64) (guessed []int64, err error) {
	p.missed = make(map[string][]int64)
	for _, m := range p.builder.Late() {
		if m.Offset < mark {
			continue
		}
		id := ""
		if recent := p.st.Carry.Recent; len(m.Keys) == 0 && len(recent) > 0 {
			id, guessed = recent[len(recent)-1], append(guessed, m.Offset)
		}
		for _, key := range m.Keys {
			at, _, err := x.find(key.String())
			if err != nil {
				return nil, err
			}
			if at == 0 {
				continue
			}
			if l, err := x.line(at); err != nil {
				return nil, err
			} else if id = l.Of; id == "" {
				id = l.ID
			}
			break
		}
		if x.top == 0 && id == "" {
			return nil, errIndex
		}
		if id != "" {
			p.missed[id] = append(p.missed[id], m.Offset)
		}
	}
	return guessed, nil
}

// addLate adds to the runs to send what events from an offset on change in those that are
// wanted, before the others: once one of these is answered for, how far the log was read must be
// noted, and that is not possible before all late events are. What was sent already, as the state
// says, is left out. It returns what earlier does.
func (p *reading) addLate(ctx context.Context, s *spool.Session, now *reading, of part, mark int64, wanted func(*otelmap.Run) bool) ([]int64, error) {
	runs, earlier, _, err := p.changes(ctx, s, now, of, mark, wanted)
	for _, r := range runs {
		again := slices.ContainsFunc(p.runs[:p.late], func(o prepared) bool { return o.ids[0] == r.ids[0] })
		if !again && p.st.Late[r.ids[0].String()] < r.until {
			p.runs, p.late = slices.Insert(p.runs, p.late, r), p.late+1
		}
	}
	return earlier, err
}

// changes maps what events from an offset on change in the runs that are wanted. now is the
// reading of the part to its end; if nil, it is read. found reports that there are such runs, earlier
// is what that function returns.
func (p *reading) changes(
	ctx context.Context, s *spool.Session, now *reading, of part, mark int64, wanted func(*otelmap.Run) bool,
) (out []prepared, earlier []int64, found bool, err error) {
	all := now != nil
	if !all {
		if now, err = p.reread(ctx, s, of, math.MaxInt64); err != nil || now.builder == nil {
			return nil, nil, false, err
		}
	}
	then, err := p.reread(ctx, s, of, mark)
	if err != nil || then.builder == nil {
		return nil, nil, false, err
	}
	tr := now.files(ctx, wanted)
	if tr != nil {
		then.builder.ApplyFiles(tr)
	}
	before := then.builder.Runs(p.Now())
	for _, r := range now.builder.Runs(p.Now()) {
		i := slices.IndexFunc(before, func(o *otelmap.Run) bool { return o.ID == r.ID })
		trace, root := now.builder.Root(r)
		// The run was delivered as ended, and a late event has made it continue: the event is sent
		// with the run. An event after the run's end belongs to the next part of the turn, unless
		// the whole log is read.
		continues := !r.Ended && (all || slices.Contains(of.late, r.Last))
		if i < 0 || !r.Ended && !continues || !wanted(r) || p.forgotten[root] {
			continue
		}
		found = true
		if !r.Since(mark) {
			continue
		}
		if continues {
			r.Outcome = cmp.Or(r.Outcome, before[i].Outcome)
		}
		sums, sum := make(map[[spanIDLen]byte]uint32), &sending{}
		for batch := range then.builder.Batches(before[i], tr)(longBatch) {
			for span := range otlp.Spans([]*tracepb.ResourceSpans{batch}) {
				sums[idBytes(span)] = sum.checksum(span)
			}
		}
		if now.memory != nil {
			now.memory.At(r.Last)
		}
		var fresh, changed []*tracepb.ResourceSpans
		for batch := range now.builder.Batches(r, tr)(longBatch) {
			one := []*tracepb.ResourceSpans{batch}
			fresh = append(fresh, otlp.Select(one, func(span *tracepb.Span) bool { _, had := sums[idBytes(span)]; return !had })...)
			changed = append(changed, otlp.Select(one, func(span *tracepb.Span) bool {
				had, known := sums[idBytes(span)]
				return !known || had != sum.checksum(span)
			})...)
		}
		if len(changed) == 0 {
			continue
		}
		run := prepared{ids: []otelmap.RunID{r.ID}, late: mark, until: r.Last, Ref: Ref{Trace: trace, Root: root, Run: r.Whole().String()}}
		settings, here := now.place(r)
		run.settings, run.elsewhere, run.host, run.less = settings, !here, now.host, now.less(r)
		run.spans = func() *tracepb.ResourceSpans { return now.clean(r, otlp.Merge(changed)[0]) }
		run.fresh = func() *tracepb.ResourceSpans {
			if len(fresh) == 0 {
				return &tracepb.ResourceSpans{}
			}
			return now.clean(r, otlp.Merge(fresh)[0])
		}
		out = append(out, run)
	}
	return out, now.earlier(of), found, nil
}

// unsure reads what the agent's files say of the calls of git whose hooks do not say how they ended.
func (p *reading) unsure(ctx context.Context) *hook.Transcript {
	facts, some := p.facts, false
	facts.Since, facts.Until = p.at, p.at.Add(undecided)
	for _, c := range p.worked.calls {
		if c.ok || c.id == "" {
			continue
		}
		some = true
		if from := c.call.Begun.Add(-fileLead); from.Before(facts.Since) {
			facts.Since = from
		}
	}
	if !some || p.Look == nil || p.src.Transcript == nil {
		return nil
	}
	tr, _ := p.src.Transcript(ctx, p.session, facts) // what cannot be read says nothing
	return tr
}

// files reads what the agent's files say about runs, and applies it to all. What cannot be
// read of them is missing.
func (p *reading) files(ctx context.Context, wanted func(*otelmap.Run) bool) *hook.Transcript {
	if p.src.Transcript == nil {
		return nil
	}
	facts := p.facts
	facts.Since, facts.Until = p.at, p.at.Add(undecided)
	runs := p.builder.Runs(p.Now())
	unnamed := !slices.ContainsFunc(runs, wanted) // the files may say which it is
	for _, r := range runs {
		if from := r.Begun().Add(-fileLead); (unnamed || wanted(r)) && from.Before(facts.Since) {
			facts.Since = from
		}
	}
	tr, _ := p.src.Transcript(ctx, p.session, facts)
	if tr != nil {
		p.builder.ApplyFiles(tr)
	}
	return tr
}

// mapAgain maps a run that was set aside, or what late events change in it, from its part of
// the log. found is false if that part is not known.
func (d *delivery) mapAgain(ctx context.Context, s *spool.Session, st *State, ref Ref, late int64) (out []prepared, found bool, err error) {
	p := d.reading(s.Key(), st)
	if p.forgotten, err = forgotten(s); err != nil {
		return nil, false, err
	}
	wanted := func(r *otelmap.Run) bool { return r.Whole().String() == ref.Run && r.ID.Root() == ref.Root }
	p.session = st.Session
	var parts []part
	var missed []int64
	x := st.index(s)
	defer x.close()
	if lines, err := x.all(ref.Run); err == nil {
		if parts, missed, err = x.parts(lines); err != nil {
			parts = nil
		}
	}
	if len(parts) == 0 { // It is behind the position, or the index is damaged. Later events will be late.
		parts = append(parts, Place{st.Offset, st.Carry}.until(st.Read), st.start().until(st.Read))
	}
	for _, of := range parts {
		if of.run != "" {
			of = of.with(missed)
		}
		if late > 0 {
			out, missed, found, err = p.changes(ctx, s, nil, of, late, wanted)
		} else {
			out, missed, err = p.endedRuns(ctx, s, of, wanted)
			found = len(out) > 0
		}
		if found || err != nil {
			break
		}
	}
	return out, found, err
}

// endedRuns maps ended runs from a part of the log, and returns what earlier does.
func (p *reading) endedRuns(ctx context.Context, s *spool.Session, of part, wanted func(*otelmap.Run) bool) (out []prepared, earlier []int64, err error) {
	q, err := p.reread(ctx, s, of, math.MaxInt64)
	if err != nil || q.builder == nil {
		return nil, nil, err
	}
	tr := q.files(ctx, wanted)
	for _, r := range q.builder.Runs(p.Now()) {
		if r.Ended && wanted(r) {
			out = append(out, q.prepare(r, tr))
		}
	}
	return slices.DeleteFunc(out, func(r prepared) bool { return p.forgotten[r.Root] }), q.earlier(of), nil
}
