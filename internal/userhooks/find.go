package userhooks

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/otelmap/spanid"
	"github.com/hookspan/hookspan/spool"
)

// plainRun finds the span of a log's last event where nothing is uncertain: in a run that
// begins with its reported start or after a reported end, with events in the order in
// which they happened, of no subagents and without an inherited context. For these it finds
// what otelmap does, without what that links. It can be stored, to read on from there.
type plainRun struct {
	// Fresh reports that there was no event yet, and none that is not known.
	Fresh bool `json:"fresh,omitempty"`
	// First is the run's first event; nil where that is not certain.
	First  *plainMark `json:"first,omitempty"`
	Last   *plainMark `json:"last,omitempty"` // nil where it is not known
	Newest time.Time  `json:"newest"`         // of all events
	Call   string     `json:"call,omitempty"` // of Last
	// Made counts the calls by id or name, Waiting are those without an end, in order.
	Made    map[string]int `json:"made"`
	Waiting []waitingCall  `json:"waiting"`
}

// waitingCall is a call without an end, with the key of its span.
type waitingCall struct {
	Of   hook.CallKey `json:"of"`
	Call string       `json:"call"`
}

// plainMark is what a plainRun needs of an event.
type plainMark struct {
	Kind     hook.Kind `json:"kind"`
	Name     string    `json:"name"`
	Time     time.Time `json:"time"`
	StoredAt time.Time `json:"stored"`
	Hash     uint64    `json:"hash"`
}

// read takes the next records of a session's log.
func (f *plainRun) read(session string, records []*spool.Record, idle time.Duration) {
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
}

// span is the traceparent of the span of the last event, if about is its hash, and of
// its run's root; empty if they are uncertain.
func (f *plainRun) span(session string, about uint64) (own, root string) {
	if f.First == nil || f.Last == nil || f.Last.Hash != about {
		return "", ""
	}
	trace := spanid.Run(hook.HostCline, session, f.First.Kind, f.First.Name, f.First.Time, f.First.StoredAt, f.First.Hash, "")
	root = spanid.Traceparent(trace, spanid.Span(trace, "root", ""))
	if f.Call == "" {
		return root, root
	}
	return spanid.Traceparent(trace, spanid.Span(trace, "tool", f.Call)), root
}

// lose says that the run of an event is uncertain, and so of those after it until another
// certainly begins.
func (f *plainRun) lose(ev *plainMark) { *f = plainRun{Last: ev, Newest: f.Newest} }

// add takes the next event.
func (f *plainRun) add(event *hook.Event, idle time.Duration) {
	ev := &plainMark{event.Kind, event.Name, event.Time, event.StoredAt, event.Hash}
	before := f.Last
	switch {
	case ev.Kind == hook.KindUnknown || ev.Kind == hook.KindAside, before != nil && copied(before, ev):
		return
	case event.ParentAgent != "" || ev.Kind == hook.KindPermission || ev.Time.IsZero() || ev.Time.Before(f.Newest):
		f.lose(nil)
		return
	}
	f.Newest = ev.Time
	ended := before != nil && before.Kind.Terminal()
	late := ev.Kind.Terminal() || ev.Kind == hook.KindNotification // after an end they change nothing
	switch {
	case before != nil && (!inOrder(before, ev) || ev.Time.Sub(before.Time) > idle), ended && late:
		f.lose(ev)
	case before == nil && !f.Fresh, f.Fresh && late, opens(ev) && before != nil && opens(before):
		f.lose(ev)
	case opens(ev), ended, f.Fresh:
		*f = plainRun{First: ev, Newest: f.Newest, Made: map[string]int{}, Waiting: []waitingCall{}}
	}
	f.Last, f.Call = ev, ""
	if f.First != nil && event.Tool != nil {
		f.pair(ev.Kind, event.Tool)
	}
}

// opens reports an event that only begins a run, unless it belongs to a run that has just
// begun.
func opens(ev *plainMark) bool {
	return ev.Kind == hook.KindRunStart || ev.Kind == hook.KindRunResume
}

// pair finds the call that an event is about.
func (f *plainRun) pair(kind hook.Kind, t *hook.Tool) {
	d := spanid.Digest(t.Input)
	key := hook.CallKey{ID: t.ID, Name: t.Name, Input: binary.BigEndian.Uint64(d[:])}
	if kind == hook.KindToolEnd {
		var open hook.OpenCalls[int]
		for i, w := range f.Waiting {
			open.Start(w.Of, i)
		}
		if i, ok := open.End(key); ok {
			f.Call = f.Waiting[i].Call
			f.Waiting = slices.Delete(f.Waiting, i, i+1)
			return
		}
	}
	name := cmp.Or(t.ID, "name:"+t.Name)
	f.Call = spanid.Call("", t.ID, t.Name, f.Made[name])
	f.Made[name]++
	if kind == hook.KindToolStart {
		f.Waiting = append(f.Waiting, waitingCall{key, f.Call})
	}
}

// copied reports a copy of the event before: Cline may run two hook files.
func copied(before, ev *plainMark) bool {
	return before.Hash == ev.Hash && before.Name == ev.Name && before.Time.Equal(ev.Time)
}

// inOrder reports that an event certainly comes after another one.
func inOrder(before, ev *plainMark) bool {
	if ev.Time.Equal(before.Time) {
		return before.Kind == hook.KindToolStart && ev.Kind == hook.KindToolEnd
	}
	return ev.Time.After(before.Time) && !ev.StoredAt.Before(before.StoredAt)
}

// storedEvent is the event that hooks run for, as the spool holds it.
type storedEvent struct {
	config *config.Config
	spool  *spool.Spool
	hash   uint64 // of the event's payload
}

// find sets the hash, 16 hexadecimal digits, and opens the spool.
func (e *storedEvent) find(hash string) (err error) {
	if e.hash, err = strconv.ParseUint(hash, 16, 64); err != nil {
		return fmt.Errorf("--about %q: want 16 hex digits", hash)
	}
	if e.spool == nil {
		e.spool, err = spool.Open(e.config.SpoolDir(), spool.Options{Sync: e.config.SpoolSync == "always"})
	}
	return err
}

// parent is the traceparent of the event's span as [Parent] finds it. dir is the
// folder for what is remembered.
func (e *storedEvent) parent(find Finder, dir, session string) (string, error) {
	return Parent(e.spool, find, dir, session, e.hash, e.config.IdleTimeout)
}

// record stores what the hooks did beside the event. now is when they had ended.
func (e *storedEvent) record(raw hook.Raw, out *Outcome, now time.Time) error {
	payload, err := out.Record(e.hash, !e.config.Textless())
	if payload == nil || err != nil {
		return err
	}
	terms, _ := e.config.Terms() // the event's record names the rules
	return e.spool.Append(&spool.Record{
		Host: hook.HostCline, Session: out.Call.Session, Event: cline.HookRunsEvent, At: now, Cwd: raw.Cwd,
		TraceParent: raw.TraceParent, Settings: terms.String(), Payload: payload,
	})
}
