package deliver

import (
	"slices"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// queue gives the runs in order, short ones together: a call costs a destination
// as much as several spans do.
type queue struct {
	runs []prepared
	// most is how many spans of several runs go together; one run may have more.
	most int
	// at and n are the runs that spans are of.
	at, n int
	spans tracetest.SpanStubs
	// held are the spans of the run that did not fit.
	held tracetest.SpanStubs
	// alone is the run up to which each goes by itself.
	alone int
}

// next moves on behind the runs that were given last and reports whether there
// are more.
func (q *queue) next() bool {
	q.at, q.n = q.at+q.n, 0
	if q.at == len(q.runs) {
		return false
	}
	q.spans, q.held, q.n = q.held, nil, 1
	if q.spans == nil {
		q.spans = q.runs[q.at].spans()
	}
	if q.at < q.alone {
		return true
	}
	for i := q.at + 1; i < len(q.runs) && len(q.spans) < q.most; i++ {
		spans := q.runs[i].spans()
		if len(q.spans)+len(spans) > q.most {
			q.held = spans
			break
		}
		if q.n == 1 {
			q.spans = slices.Clip(q.spans) // another destination may have them, too
		}
		q.spans = append(q.spans, spans...)
		q.n++
	}
	return true
}

// part gives the same runs again, each by itself: of which of them an answer was
// shows only then.
func (q *queue) part() {
	q.alone, q.n, q.held = q.at+q.n, 0, nil
}
