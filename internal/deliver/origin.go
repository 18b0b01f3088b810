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

// sessionStart is how a session began. It is zero if its log does not say.
type sessionStart struct {
	source string
	ppid   int
	at     time.Time
}

// note takes over what the first start event of a session says.
func (b *sessionStart) note(rec *spool.Record, e *hook.Event) {
	if b.at.IsZero() && e.Kind == hook.KindSessionStart {
		*b = sessionStart{source: hook.TextOf(e.Attrs, otelmap.KeySessionSource), ppid: rec.PPID, at: rec.At}
	}
}

// link links the session to the last run of the session that led to it: the one
// that the user cleared, or the one that it was forked from. The link is only for
// people to follow, so that its absence is no error.
func (p *reading) link(ctx context.Context) {
	var last *hook.Event
	switch p.start.source {
	case "clear":
		last = p.cleared(ctx)
	case "fork":
		if p.src.Origin == nil {
			return
		}
		origin, turn, err := p.src.Origin(ctx, p.session, p.facts)
		if err != nil {
			p.logf("session %s: the session it was forked from is not linked: %v", p.key.Name, err)
			return
		}
		last = &hook.Event{Session: origin, Turn: turn}
	}
	if last != nil && last.Turn != "" {
		p.builder.LinkTo(last.Session, last.Turn, last.TraceParent)
	}
}

// cleared returns the last prompt of the session that the same program ended just
// before this one began, or nil.
func (p *reading) cleared(ctx context.Context) *hook.Event {
	keys, err := p.Spool.Sessions()
	if err != nil {
		return nil
	}
	for _, k := range keys {
		if ctx.Err() != nil {
			return nil
		}
		if k.Host != p.key.Host || k == p.key {
			continue
		}
		if last := p.lastPrompt(k); last != nil {
			return last
		}
	}
	return nil
}

// lastPrompt returns the last prompt of a session if the program that began this
// one cleared it just before, else nil.
func (p *reading) lastPrompt(k spool.Key) (last *hook.Event) {
	s, err := p.Spool.Session(k)
	if err != nil {
		return nil
	}
	defer func() { _ = s.Close() }()
	if at, err := s.ModTime(); err != nil || at.Before(p.start.at.Add(-clearWithin)) {
		return nil
	}
	for rec, e := range p.src.events(s, 0) {
		switch {
		case rec.At.After(p.start.at):
			return nil
		case e.Kind == hook.KindPrompt:
			last = e
		case e.Kind == hook.KindSessionEnd && rec.PPID == p.start.ppid && p.start.at.Sub(rec.At) <= clearWithin &&
			hook.TextOf(e.Attrs, otelmap.KeySessionEndReason) == "clear":
			return last
		}
	}
	return nil
}
