package clinehooks

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/internal/hookfile"
	"github.com/hookspan/hookspan/internal/hookrun"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
)

// The user's agent waits while an event's span is looked for. The end of the
// session's log is read, firstLook bytes at first and four times as many each
// further time, up to parentTail.
const (
	firstLook  = 256 << 10
	parentTail = 16 * firstLook
)

// Parent is the traceparent of the span that an event of the session will have:
// the call's, else the run's root. about is the hash of the event's payload as it
// was stored. The answer is empty where that span cannot be known: the event is
// not among the newest of the log, or its run began too far back.
func Parent(sp *spool.Spool, session string, about uint64, o otelmap.Options) (string, error) {
	s, err := sp.Session(spool.SessionKey(cline.Host, session))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = s.Close() }()
	for limit := int64(firstLook); limit <= parentTail; limit *= 4 {
		records, whole, err := tail(s, limit)
		if err != nil {
			return "", fmt.Errorf("look for the event's span: %w", err)
		}
		if whole || bounded(records) {
			b := otelmap.NewBuilder(cline.Host, session, o, otelmap.Carry{})
			if !whole {
				b.Partial()
			}
			if ev := add(b, records, about); ev != nil {
				if sc, ok := b.Place(ev); ok {
					return otelmap.Traceparent(sc), nil
				}
			}
		}
		if whole {
			return "", nil
		}
	}
	return "", nil
}

// tail reads the last records of a log and reports whether they are all.
func tail(s *spool.Session, limit int64) (records []*spool.Record, whole bool, err error) {
	r, whole, err := s.Tail(limit)
	if err != nil {
		return nil, false, err
	}
	for r.Next() {
		records = append(records, r.Record())
	}
	return records, whole, errors.Join(r.Err(), r.Close())
}

// bounded reports that a run may begin or end among the records, by their names
// alone, which spares decoding those of a run that began before them all.
func bounded(records []*spool.Record) bool {
	return slices.ContainsFunc(records, func(r *spool.Record) bool {
		kind := cline.Peek(nil, r.Event).Kind
		return kind == hook.KindRunStart || kind == hook.KindRunResume || kind.Terminal()
	})
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

// called reports that one of the handlers is to run.
func called(r *hookrun.Runner, handlers []hookfile.Handler, events []hookrun.Event) bool {
	return slices.ContainsFunc(r.Select(handlers, events), func(m hookrun.Match) bool { return m.Matched })
}

// below is the environment in which further spans go below that one. What
// another tracer said of its own parent goes with that parent.
func below(env []string, traceparent string) []string {
	if traceparent == "" {
		return env
	}
	env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		return strings.HasPrefix(kv, "TRACEPARENT=") || strings.HasPrefix(kv, "TRACESTATE=")
	})
	return append(env, "TRACEPARENT="+traceparent)
}
