package deliver

import (
	"cmp"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
)

// lastWords is how much of a log's end is looked at for the session's end.
const lastWords = 256 << 10

// surelyOpen reports that a session has certainly not ended, from the end of its
// log alone: for a destination that gets whole sessions the log need not be read
// at the end of each turn.
func (d *Deliverer) surelyOpen(s *spool.Session, offset, size int64) bool {
	src, known := d.Sources[s.Key().Host]
	if !known {
		return false
	}
	// Reading may begin within a record: the reader finds the next.
	r, err := s.Reader(max(offset, size-lastWords))
	if err != nil {
		return false
	}
	defer func() { _ = r.Close() }()
	over := false
	var last time.Time
	for r.Next() {
		last = r.Record().At
		events, err := src.Decode(r.Record())
		if err != nil {
			continue
		}
		for i := range events {
			switch events[i].Kind {
			case hook.KindSessionEnd:
				over = true
			case hook.KindPrompt, hook.KindSessionStart, hook.KindRunStart, hook.KindRunResume:
				over = over && events[i].ParentAgent != ""
			}
		}
	}
	return !over && d.Now().Sub(last) <= cmp.Or(d.Map.IdleTimeout, otelmap.DefaultIdleTimeout)
}

// join makes one run of all.
func join(runs []prepared, with func([]*tracepb.ResourceSpans) *tracepb.ResourceSpans) []prepared {
	if len(runs) == 0 {
		return runs
	}
	one := prepared{Ref: runs[0].Ref}
	spans := make([]*tracepb.ResourceSpans, len(runs))
	for i := range runs {
		one.ids = append(one.ids, runs[i].ids...)
		if i > 0 {
			one.joined = append(one.joined, runs[i].Ref)
		}
		spans[i] = runs[i].spans()
	}
	all := with(spans)
	one.spans = func() *tracepb.ResourceSpans { return all }
	return []prepared{one}
}
