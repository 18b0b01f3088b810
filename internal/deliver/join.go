package deliver

import (
	"iter"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/spool"
)

// lastRecords is how much of a log's end is read to find the session's end, in
// bytes.
const lastRecords = 256 << 10

// surelyOpen reports that a session has certainly not ended, from the end of its
// log alone: for a destination that gets whole sessions the log need not be read
// at the end of each turn.
func (d *Deliverer) surelyOpen(s *spool.Session, offset, size int64) bool {
	src, ok := d.Sources[s.Key().Host]
	if !ok {
		return false
	}
	ended := false
	var last time.Time
	// If this is within a record, the reader begins with the next.
	for rec, e := range src.events(s, max(offset, size-lastRecords)) {
		last = rec.At
		ended = e.Kind == hook.KindSessionEnd || ended && !begins(e)
	}
	return !ended && !hook.Elapsed(d.Now(), last, d.idle())
}

// begins reports whether an event continues a session that has ended.
func begins(e *hook.Event) bool {
	switch e.Kind {
	case hook.KindPrompt, hook.KindSessionStart, hook.KindRunStart, hook.KindRunResume:
		return e.ParentAgent == ""
	}
	return false
}

// events yields the events of a session from an offset, with their records. It ends
// at the first error and leaves out what cannot be decoded.
func (src *Source) events(s *spool.Session, from int64) iter.Seq2[*spool.Record, *hook.Event] {
	return func(yield func(*spool.Record, *hook.Event) bool) {
		r, err := s.Reader(from)
		if err != nil {
			return
		}
		defer func() { _ = r.Close() }()
		for r.Next() {
			events, err := src.Decode(r.Record())
			for i := 0; err == nil && i < len(events); i++ {
				if !yield(r.Record(), &events[i]) {
					return
				}
			}
		}
	}
}

// join makes one run of several, but not of those at the beginning that are late.
func join(runs []prepared, with func([]*tracepb.ResourceSpans) *tracepb.ResourceSpans) []prepared {
	late, runs := split(runs, func(r prepared) bool { return r.fresh != nil })
	if len(runs) == 0 {
		return late
	}
	one := prepared{Ref: runs[0].Ref, settings: runs[0].settings}
	var spans []*tracepb.ResourceSpans
	for i, r := range runs {
		one.ids = append(one.ids, r.ids...)
		if i > 0 {
			one.joined = append(one.joined, r.Ref)
		}
		spans = append(spans, r.spans())
	}
	joined := with(spans)
	one.spans = func() *tracepb.ResourceSpans { return joined }
	return append(late, one)
}
