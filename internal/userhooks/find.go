package userhooks

import (
	"cmp"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/otelmap/spanid"
	"github.com/hookspan/hookspan/spool"
)

// FindPlain is a Finder that knows only logs in which nothing is uncertain: a run that
// begins with its reported start or after a reported end, with events in the order in
// which they happened, of no subagents and without an inherited context. For these it finds
// what otelmap does, without what that links.
func FindPlain(session string, records []*spool.Record, whole bool, about uint64, idle time.Duration) (own, root string, known bool) {
	f := plainRun{fresh: whole}
	for _, r := range records {
		if r.Event == cline.HookRunsEvent {
			continue
		}
		events, err := cline.DecodeCalls(hook.Raw{Payload: r.Payload, Event: r.Event, StoredAt: r.At, Offset: r.Offset, Cwd: r.Cwd})
		if err != nil || len(events) != 1 || events[0].Session != session || r.TraceParent != "" {
			f.lose(nil)
			continue
		}
		f.add(&events[0], idle)
	}
	if !f.begun || f.last.Hash != about {
		return "", "", false
	}
	trace := spanid.Run(cline.Host, session, f.first.Kind, f.first.Name, f.first.Time, f.first.StoredAt, "")
	root = spanid.Traceparent(trace, spanid.Span(trace, "root", ""))
	if f.call == "" {
		return root, root, true
	}
	return spanid.Traceparent(trace, spanid.Span(trace, "tool", f.call)), root, true
}

// plainRun is the run of the last event, as far as the events before it show it.
type plainRun struct {
	// fresh reports that there was no event yet, and none that is not known.
	fresh bool
	// begun reports that first is certainly the run's first event.
	begun       bool
	first, last *hook.Event // last is nil where it is not known
	newest      time.Time   // of all events
	call        string      // of last
	// made counts the calls by id or name, waiting are the keys of those without an end.
	made    map[string]int
	waiting map[[3]string][]string
}

// lose says that the run of an event is uncertain, and so of those after it until another
// certainly begins.
func (f *plainRun) lose(ev *hook.Event) { *f = plainRun{last: ev, newest: f.newest} }

// add takes the next event.
func (f *plainRun) add(ev *hook.Event, idle time.Duration) {
	before := f.last
	switch {
	case ev.Kind == hook.KindUnknown || ev.Kind == hook.KindAside, before != nil && copied(before, ev):
		return
	case ev.ParentAgent != "" || ev.Kind == hook.KindPermission || ev.Time.IsZero() || ev.Time.Before(f.newest):
		f.lose(nil)
		return
	}
	f.newest = ev.Time
	ended := before != nil && before.Kind.Terminal()
	late := ev.Kind.Terminal() || ev.Kind == hook.KindNotification // after an end they change nothing
	switch {
	case before != nil && (!inOrder(before, ev) || ev.Time.Sub(before.Time) > idle), ended && late:
		f.lose(ev)
	case before == nil && !f.fresh, f.fresh && late, opens(ev) && before != nil && opens(before):
		f.lose(ev)
	case opens(ev), ended, f.fresh:
		*f = plainRun{begun: true, first: ev, newest: f.newest, made: map[string]int{}, waiting: map[[3]string][]string{}}
	}
	f.last, f.call = ev, ""
	if f.begun && ev.Tool != nil {
		f.pair(ev)
	}
}

// opens reports an event that only begins a run, unless it belongs to a run that has just
// begun.
func opens(ev *hook.Event) bool {
	return ev.Kind == hook.KindRunStart || ev.Kind == hook.KindRunResume
}

// pair finds the call that an event is about: an end belongs to the oldest start with its
// id, or with its tool and input.
func (f *plainRun) pair(ev *hook.Event) {
	t := ev.Tool
	key := [3]string{t.ID}
	if t.ID == "" {
		key = [3]string{"", t.Name, t.Input}
	}
	if w := f.waiting[key]; ev.Kind == hook.KindToolEnd && len(w) > 0 {
		f.call, f.waiting[key] = w[0], w[1:]
		return
	}
	name := cmp.Or(t.ID, "name:"+t.Name)
	f.call = spanid.Call("", t.ID, t.Name, f.made[name])
	f.made[name]++
	if ev.Kind == hook.KindToolStart {
		f.waiting[key] = append(f.waiting[key], f.call)
	}
}

// copied reports a copy of the event before: Cline may run two hook files.
func copied(before, ev *hook.Event) bool {
	return before.Hash == ev.Hash && before.Name == ev.Name && before.Time.Equal(ev.Time)
}

// inOrder reports that an event certainly comes after another one.
func inOrder(before, ev *hook.Event) bool {
	if ev.Time.Equal(before.Time) {
		return before.Kind == hook.KindToolStart && ev.Kind == hook.KindToolEnd
	}
	return ev.Time.After(before.Time) && !ev.StoredAt.Before(before.StoredAt)
}
