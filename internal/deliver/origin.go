package deliver

import (
	"context"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
)

// clearWithin is how long a host may take from ending one session to beginning
// the next in its place.
const clearWithin = 30 * time.Second

// beginning is how a session began, as far as its log tells.
type beginning struct {
	source string
	ppid   int
	at     time.Time
}

// note takes what a record says, if it is the first that says it.
func (b *beginning) note(rec *spool.Record, e *hook.Event) {
	if b.at.IsZero() && e.Kind == hook.KindSessionStart {
		*b = beginning{source: fact(e, otelmap.KeySessionSource), ppid: rec.PPID, at: rec.At}
	}
}

// follow ties a session that another one led to, to the other's last run: one
// that was begun in its place when the user cleared the conversation, or one
// that was forked off. It is a link for people and never worth an error: where
// the other cannot be found, there is none.
func (d *Deliverer) follow(ctx context.Context, b *otelmap.Builder, s *spool.Session, src Source, began beginning, f Facts, session string) {
	var last *hook.Event
	switch began.source {
	case "clear":
		last = d.cleared(ctx, s.Key(), src, began)
	case "fork":
		if src.Origin == nil {
			return
		}
		origin, turn, err := src.Origin(ctx, session, f)
		if err != nil {
			d.logf("session %s: the session it was forked from is not linked: %v", s.Key().Name, err)
			return
		}
		last = &hook.Event{Session: origin, Turn: turn}
	}
	if last != nil && last.Turn != "" {
		b.LinkTo(last.Session, last.Turn, last.TraceParent)
	}
}

// cleared finds the last prompt of the session that the same program ended just
// before this one began.
func (d *Deliverer) cleared(ctx context.Context, k spool.Key, src Source, began beginning) *hook.Event {
	keys, err := d.Spool.Sessions()
	if err != nil {
		return nil
	}
	for _, other := range keys {
		if ctx.Err() != nil {
			return nil
		}
		if other.Host != k.Host || other == k {
			continue
		}
		if last := d.endedBefore(other, src, began); last != nil {
			return last
		}
	}
	return nil
}

// endedBefore is the last prompt of a session, if the program that began the
// other one ended it just before.
func (d *Deliverer) endedBefore(k spool.Key, src Source, began beginning) *hook.Event {
	s, err := d.Spool.Session(k)
	if err != nil {
		return nil
	}
	defer func() { _ = s.Close() }()
	if at, err := s.ModTime(); err != nil || at.Before(began.at.Add(-clearWithin)) {
		return nil
	}
	r, err := s.Reader(0)
	if err != nil {
		return nil
	}
	defer func() { _ = r.Close() }()
	var last *hook.Event
	for r.Next() {
		rec := r.Record()
		if rec.At.After(began.at) {
			return nil
		}
		events, err := src.Decode(rec)
		if err != nil {
			continue
		}
		for i := range events {
			e := &events[i]
			switch e.Kind {
			case hook.KindPrompt:
				last = e
			case hook.KindSessionEnd:
				if rec.PPID == began.ppid && began.at.Sub(rec.At) <= clearWithin &&
					fact(e, otelmap.KeySessionEndReason) == "clear" {
					return last
				}
			}
		}
	}
	return nil
}

// fact is the text of a fact of an event.
func fact(e *hook.Event, key string) string {
	for _, a := range e.Attrs {
		if s, ok := a.Value.(string); ok && a.Key == key {
			return s
		}
	}
	return ""
}
