package store

import (
	"cmp"
	"slices"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/hookspan/hookspan/otelmap"
)

// node is a span or a span event in its place in the tree.
type node struct {
	// span is nil in an event, and in the stand-in for a missing root.
	span  *tracetest.SpanStub
	event *sdktrace.Event
	at    time.Time
	// parent is nil at the top.
	parent   *node
	children []*node
	// orphan marks a span whose parent is not stored, or is its own descendant.
	orphan bool
}

// tree arranges spans. At the top stand the runs' own spans, whatever parent
// they name, and spans without a parent; there is always one node at least.
// Every span comes exactly once, whatever the parents say.
func tree(spans tracetest.SpanStubs) []*node {
	nodes := make([]*node, len(spans))
	byID := make(map[trace.SpanID]*node, len(spans))
	for i := range spans {
		nodes[i] = &node{span: &spans[i], at: spans[i].StartTime}
		byID[spans[i].SpanContext.SpanID()] = nodes[i]
	}
	var tops []*node
	for _, n := range nodes {
		p := n.span.Parent.SpanID()
		n.parent = byID[p]
		switch {
		case roleOf(n.span.Attributes) == roleRoot && n.parent == nil, !p.IsValid():
			tops = append(tops, n)
		case n.parent == nil:
			n.orphan = true
		}
	}
	breakCycles(nodes)
	slices.SortStableFunc(tops, func(x, y *node) int {
		// A run is a better home for orphans than a span that has merely lost
		// its parent.
		xr, yr := roleOf(x.span.Attributes) == roleRoot, roleOf(y.span.Attributes) == roleRoot
		if xr != yr {
			if xr {
				return -1
			}
			return 1
		}
		return x.at.Compare(y.at)
	})
	if len(tops) == 0 {
		tops = []*node{{}}
	}
	for _, n := range nodes {
		if n.orphan {
			n.parent = tops[0]
		}
		if n.parent != nil {
			n.parent.children = append(n.parent.children, n)
		}
	}
	for _, n := range nodes {
		n.addEvents()
	}
	tops[0].sort()
	return tops
}

// breakCycles makes an orphan of one span in every ring of parents; orphans get
// a new parent afterwards.
func breakCycles(nodes []*node) {
	const walking, done = 1, 2
	state := make(map[*node]int, len(nodes))
	for _, n := range nodes {
		var path []*node
		for n != nil && state[n] == 0 {
			state[n] = walking
			path = append(path, n)
			n = n.parent
		}
		if n != nil && state[n] == walking {
			n.orphan = true
		}
		for _, m := range path {
			state[m] = done
		}
	}
}

// addEvents gives a span its events and puts its children in the order of
// time; of one moment the events come first. Exceptions are not among them:
// they stand with the span itself.
func (n *node) addEvents() {
	spans := n.children
	n.children = nil
	for i := range n.span.Events {
		e := &n.span.Events[i]
		if e.Name != otelmap.EventException {
			n.children = append(n.children, &node{event: e, at: e.Time, parent: n})
		}
	}
	n.children = append(n.children, spans...)
	n.sort()
}

func (n *node) sort() {
	slices.SortStableFunc(n.children, func(x, y *node) int { return x.at.Compare(y.at) })
}

// descendants counts the spans and events below a node.
func (n *node) descendants() int {
	count := 0
	for todo := slices.Clone(n.children); len(todo) > 0; {
		next := todo[len(todo)-1]
		todo = append(todo[:len(todo)-1], next.children...)
		count++
	}
	return count
}

func (n *node) mark() mark {
	if n.event != nil {
		if n.event.Name == otelmap.EventHook && denies(n.event.Attributes) {
			return markFailed
		}
		return markEvent
	}
	if n.span == nil {
		return markUnfinished
	}
	a := attrs(n.span.Attributes)
	if o := a.str(otelmap.KeyOutcome); o != "" {
		return outcomeMark(o)
	}
	switch a.str(otelmap.KeyErrorType) {
	case otelmap.ErrorToolDenied, otelmap.ErrorToolCancelled:
		return markDenied
	case otelmap.ErrorToolUnfinished, otelmap.ErrorAbandoned:
		return markUnfinished
	}
	switch {
	case n.span.Status.Code == codes.Error:
		return markFailed
	case n.span.EndTime.IsZero():
		return markUnfinished
	case a.str(otelmap.KeyToolOutcome) == otelmap.ToolOutcomeUnknown:
		return markUnknown
	}
	return markOK
}

// denies reports that one of the user's hooks said no.
func denies(a attrs) bool {
	switch a.str(otelmap.KeyHookDecision) {
	case "deny", "block":
		return true
	}
	return false
}

func outcomeMark(outcome string) mark {
	switch outcome {
	case otelmap.OutcomeCompleted:
		return markOK
	case otelmap.OutcomeFailed:
		return markFailed
	case otelmap.OutcomeCancelled, otelmap.OutcomeInterrupted:
		return markDenied
	}
	return markUnfinished
}

// problem is what went wrong: the type of the error and its message.
func (n *node) problem() (kind, message string) {
	if n.span == nil {
		return "", ""
	}
	kind = attrs(n.span.Attributes).str(otelmap.KeyErrorType)
	message = n.span.Status.Description
	for i := range n.span.Events {
		e := &n.span.Events[i]
		if e.Name == otelmap.EventException {
			a := attrs(e.Attributes)
			kind = cmp.Or(kind, a.str(otelmap.KeyExceptionType))
			message = cmp.Or(message, a.str(otelmap.KeyExceptionMessage))
		}
	}
	return kind, message
}
