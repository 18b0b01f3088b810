// Package place finds the span that a stored event of Cline will have.
package place

import (
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/otelmap/spanid"
	"github.com/hookspan/hookspan/spool"
)

// Find is a userhooks.Finder: it maps the records as a delivery does.
func Find(session string, records []*spool.Record, whole bool, about uint64, idle time.Duration) (own, root string) {
	// Texts do not decide where an event belongs.
	b := otelmap.NewBuilder(hook.HostCline, session, otelmap.Options{Capture: otelmap.CaptureNone, IdleTimeout: idle}, otelmap.Carry{})
	if !whole {
		b.SetPartial()
	}
	if ev := add(b, records, about); ev != nil {
		if sc, rc, ok := b.SpanFor(ev); ok {
			return spanid.Traceparent(sc.TraceID(), sc.SpanID()), spanid.Traceparent(rc.TraceID(), rc.SpanID())
		}
	}
	return "", ""
}

// add gives b the records' events and returns the one with that hash.
func add(b *otelmap.Builder, records []*spool.Record, about uint64) *hook.Event {
	var found *hook.Event
	for _, r := range records {
		if r.Event == cline.HookRunsEvent {
			continue
		}
		// What cannot be decoded has no session and belongs to no span.
		events, _ := cline.Decode(hook.Raw{
			Payload: r.Payload, Event: r.Event, StoredAt: r.At, Offset: r.Offset, Cwd: r.Cwd, TraceParent: r.TraceParent,
		})
		for i := range events {
			if events[i].Session == "" {
				continue
			}
			b.Add(events[i])
			if events[i].Hash == about {
				found = &events[i]
			}
		}
	}
	return found
}
