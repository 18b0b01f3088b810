package deliver

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/spool"
)

// queue returns the runs in order, short ones together: a call costs a destination
// as much as several spans.
type queue struct {
	runs []prepared
	// most is the largest number of spans of several runs; one run may have more.
	most int
	// bytes is the largest size of a request of several spans; zero is no limit.
	bytes int
	// batches are the spans of n runs, beginning with run at.
	at, n   int
	batches iter.Seq[[]*tracepb.ResourceSpans]
	// held is the next run, if it was mapped and did not fit.
	held *tracepb.ResourceSpans
	// several reports that the run of batches needs more than one.
	several bool
	// alone is the number of the run before which each is returned separately.
	alone int
}

// longBatch is the largest number of spans of a long run in one call: they are in
// memory beside the run's events.
const longBatch = 1024

// next moves to the next runs and reports whether there are any.
func (q *queue) next() bool {
	q.at, q.n = q.at+q.n, 0
	if q.at == len(q.runs) {
		return false
	}
	q.n, q.several = 1, true
	if long := q.runs[q.at].batches; long != nil {
		size := math.MaxInt
		if q.most > 0 {
			size = min(q.most, longBatch)
		}
		all := long(size)
		q.batches = func(yield func([]*tracepb.ResourceSpans) bool) {
			for batch := range all {
				for part := range bounded(batch, size, q.bytes) {
					if !yield(part) {
						return
					}
				}
			}
		}
		return true
	}
	run := q.held
	switch first := &q.runs[q.at]; {
	case first.fresh != nil && q.most == 0:
		// A changed span in a request of its own would make a second document.
		run = first.fresh()
	case run == nil:
		run = q.mapped(q.at)
		if run == nil {
			q.n = 0
			return q.next()
		}
	}
	together := []*tracepb.ResourceSpans{run}
	q.held = nil
	count, size := otlp.Count(together), q.size(run)
	full := q.bytes > 0 && size > q.bytes
	q.several = full || q.most > 0 && count > q.most
	for i := q.at + 1; !full && q.at >= q.alone && i < len(q.runs) && count < q.most && q.runs[i].batches == nil && q.runs[i-1].fresh == nil; i++ {
		run := q.mapped(i)
		if run == nil {
			break
		}
		count += otlp.Count([]*tracepb.ResourceSpans{run})
		size += q.size(run)
		if count > q.most || q.bytes > 0 && size > q.bytes {
			q.held = run
			break
		}
		together = append(together, run)
		q.n++
	}
	q.batches = bounded(otlp.Merge(together), q.most, q.bytes)
	return true
}

// size is the size of a run, if there is a limit.
func (q *queue) size(run *tracepb.ResourceSpans) int {
	if q.bytes == 0 {
		return 0
	}
	return otlp.Size([]*tracepb.ResourceSpans{run})
}

// mapped maps a run. If that panics, the result is nil, and so will the run's batches:
// where they are sent, this fails the run alone.
func (q *queue) mapped(i int) *tracepb.ResourceSpans {
	defer func() {
		if e := recover(); e != nil {
			q.runs[i].batches = func(int) iter.Seq[[]*tracepb.ResourceSpans] {
				return func(func([]*tracepb.ResourceSpans) bool) { panic(e) }
			}
		}
	}()
	return q.runs[i].spans()
}

// batches returns the spans in batches of at most size; zero is no limit.
func batches(messages []*tracepb.ResourceSpans, size int) iter.Seq[[]*tracepb.ResourceSpans] {
	return slices.Values(otlp.Split(messages, cmp.Or(size, math.MaxInt)))
}

// bounded is batches with a limit of their bytes too.
func bounded(messages []*tracepb.ResourceSpans, size, bytes int) iter.Seq[[]*tracepb.ResourceSpans] {
	if bytes == 0 || otlp.Size(messages) <= bytes {
		return batches(messages, size)
	}
	return slices.Values(otlp.SplitBytes(messages, size, bytes))
}

// separate makes next return the same runs again, each separately: only then does an
// answer show which of them it is about.
func (q *queue) separate() {
	q.alone, q.n, q.held = q.at+q.n, 0, nil
}

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
