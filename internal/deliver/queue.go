package deliver

import (
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
)

// queue returns the runs in order, short ones together: a call costs a destination
// as much as several spans do.
type queue struct {
	runs []prepared
	// most is how many spans of several runs go together; one run may have more.
	most int
	// at and n are the runs that spans are of.
	at, n int
	spans []*tracepb.ResourceSpans
	// held are the spans of the run that did not fit.
	held *tracepb.ResourceSpans
	// alone is the run up to which each goes by itself.
	alone int
}

// next moves on behind the runs that were returned last and reports whether there
// are more.
func (q *queue) next() bool {
	q.at, q.n = q.at+q.n, 0
	if q.at == len(q.runs) {
		return false
	}
	run := q.held
	if run == nil {
		run = q.runs[q.at].spans()
	}
	together := []*tracepb.ResourceSpans{run}
	q.held, q.n = nil, 1
	count := otlp.Count(together)
	for i := q.at + 1; q.at >= q.alone && i < len(q.runs) && count < q.most; i++ {
		run := q.runs[i].spans()
		count += otlp.Count([]*tracepb.ResourceSpans{run})
		if count > q.most {
			q.held = run
			break
		}
		together = append(together, run)
		q.n++
	}
	q.spans = otlp.Merge(together)
	return true
}

// separate returns the same runs again, each by itself: of which of them an answer was
// shows only then.
func (q *queue) separate() {
	q.alone, q.n, q.held = q.at+q.n, 0, nil
}
