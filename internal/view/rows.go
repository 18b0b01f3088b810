package view

import (
	"cmp"
	"slices"
	"strings"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/store"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/otelmap"
)

// Kind is what a row shows.
type Kind string

// The kinds.
const (
	KindRun   Kind = "run"
	KindAgent Kind = "agent"
	KindTool  Kind = "tool"
	KindChat  Kind = "chat"
	// KindSpan is a span of another program.
	KindSpan  Kind = "span"
	KindEvent Kind = "event"
	// KindNoRoot takes the place of the root span of a trace without one.
	KindNoRoot Kind = "no root"
)

// Status is how a span ended.
type Status string

// The statuses. An event has StatusNone, unless a hook denied something.
const (
	StatusNone       Status = ""
	StatusOK         Status = "ok"
	StatusFailed     Status = "failed"
	StatusDenied     Status = "denied"
	StatusUnfinished Status = "unfinished"
	// StatusUnknown is a tool call that ended with an unknown outcome.
	StatusUnknown Status = "unknown"
	// StatusRunning is a run, or a call, that has not ended.
	StatusRunning Status = "running"
)

// Row is a span or a span event at its place in the trace.
type Row struct {
	// Depth is the number of rows above it, up to the run.
	Depth  int
	Kind   Kind
	Status Status
	// Label names the span or event, on one line that is safe for a terminal.
	Label string
	// Start and End are zero if unknown. Most events have no End.
	Start, End time.Time
	// Number counts the tool calls of the trace from 1; 0 for other rows.
	Number int
	// Detached reports a span whose parent is not stored or is its own
	// descendant. It is below the first run.
	Detached bool

	span  *tracepb.Span
	event *tracepb.Span_Event
}

// Took returns the time from Start to End, 0 if there is no End. It is never
// negative.
func (r *Row) Took() time.Duration {
	if r.End.IsZero() {
		return 0
	}
	return max(0, r.End.Sub(r.Start))
}

// Rows returns the spans and events of a trace as a tree in depth-first order,
// siblings in the order of time. At the top are the runs, whatever parent they
// name, and spans without a parent. Every span is in one row.
func Rows(t *store.Trace) []Row {
	var rows []Row
	calls := 0
	todo := arrange(t.ResourceSpans)
	slices.Reverse(todo)
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		r := n.row(t.Model)
		if r.Kind == KindTool {
			calls++
			r.Number = calls
		}
		rows = append(rows, r)
		for _, c := range slices.Backward(n.children) {
			c.depth = n.depth + 1
			todo = append(todo, c)
		}
	}
	return rows
}

// node is a span or an event in the tree. It has neither if the root is missing.
type node struct {
	span     *tracepb.Span
	event    *tracepb.Span_Event
	at       uint64
	parent   *node
	children []*node
	detached bool
	depth    int
	walk     int // what detachCycles has seen
}

// arrange returns the nodes at the top of the tree, at least one.
func arrange(messages []*tracepb.ResourceSpans) []*node {
	var nodes []*node
	byID := make(map[string]*node)
	for s := range otlp.Spans(messages) {
		n := &node{span: s, at: s.GetStartTimeUnixNano()}
		nodes = append(nodes, n)
		byID[string(s.GetSpanId())] = n
	}
	slices.SortStableFunc(nodes, func(x, y *node) int {
		return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(y.span.GetEndTimeUnixNano(), x.span.GetEndTimeUnixNano()))
	})
	var runs, others []*node
	for _, n := range nodes {
		n.parent = byID[string(n.span.GetParentSpanId())]
		switch {
		case n.parent == nil && n.isRun():
			runs = append(runs, n)
		case len(n.span.GetParentSpanId()) == 0:
			others = append(others, n)
		case n.parent == nil:
			n.detached = true
		}
	}
	detachCycles(nodes)
	// Detached spans go below the first run if there is one.
	tops := append(runs, others...)
	if len(tops) == 0 {
		tops = []*node{{}}
	}
	for _, n := range nodes {
		// Exceptions are shown with the span itself.
		for _, e := range n.span.GetEvents() {
			if e.GetName() != otelmap.EventException {
				n.children = append(n.children, &node{event: e, at: e.GetTimeUnixNano(), parent: n})
			}
		}
	}
	for _, n := range nodes {
		if n.detached {
			n.parent = tops[0]
		}
		if n.parent != nil {
			n.parent.children = append(n.parent.children, n)
		}
	}
	for _, n := range append(nodes, tops[0]) {
		slices.SortStableFunc(n.children, func(x, y *node) int { return cmp.Compare(x.at, y.at) })
	}
	return tops
}

func (n *node) isRun() bool { return store.RoleOf(n.span.GetAttributes()) == store.RoleRoot }

// detachCycles detaches one span of each cycle of parents.
func detachCycles(nodes []*node) {
	for i, n := range nodes {
		for n != nil && n.walk == 0 {
			n.walk = i + 1
			n = n.parent
		}
		if n != nil && n.walk == i+1 {
			n.detached = true
		}
	}
}

// row makes the node's row. model is the trace's, which requests to it need not
// repeat.
func (n *node) row(model string) Row {
	r := Row{Depth: n.depth, Detached: n.detached, span: n.span, event: n.event, Start: otlp.Time(n.at)}
	switch {
	case n.event != nil:
		r.describeEvent()
	case n.span != nil:
		r.describeSpan(model)
	default:
		r.Kind, r.Status, r.Label = KindNoRoot, StatusUnfinished, "(no root span)"
	}
	return r
}

func (r *Row) describeEvent() {
	a := r.event.GetAttributes()
	r.Kind, r.Label = KindEvent, termtext.Line(strings.TrimPrefix(r.event.GetName(), "hookspan."))
	if r.event.GetName() == otelmap.EventHook && slices.Contains([]string{"deny", "block"}, otlp.Text(a, otelmap.KeyHookDecision)) {
		r.Status = StatusDenied
	}
	if ms, ok := otlp.Integer(a, otelmap.KeyHookDuration); ok {
		r.End = r.Start.Add(time.Duration(ms) * time.Millisecond)
	}
}

func (r *Row) describeSpan(model string) {
	a := r.span.GetAttributes()
	r.Status, r.End = spanStatus(r.span), otlp.End(r.span)
	r.Label = cmp.Or(termtext.Line(r.span.GetName()), "unnamed")
	switch store.RoleOf(a) {
	case store.RoleRoot:
		r.Kind = KindRun
	case store.RoleAgent:
		r.Kind = KindAgent
	case store.RoleTool:
		r.Kind, r.Label = KindTool, cmp.Or(termtext.Line(otlp.Text(a, otelmap.KeyToolName)), r.Label)
	case store.RoleChat:
		if r.Kind = KindChat; model != "" && otlp.Text(a, otelmap.KeyRequestModel) == model {
			r.Label = otelmap.OpChat
		}
	default:
		r.Kind = KindSpan
	}
}

func spanStatus(s *tracepb.Span) Status {
	a := s.GetAttributes()
	if outcome := otlp.Text(a, otelmap.KeyOutcome); outcome != "" {
		return outcomeStatus(outcome)
	}
	switch otlp.Text(a, otelmap.KeyErrorType) {
	case otelmap.ErrorToolDenied, otelmap.ErrorToolCancelled:
		return StatusDenied
	case otelmap.ErrorToolUnfinished, otelmap.ErrorAbandoned:
		return StatusUnfinished
	}
	switch {
	case s.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR:
		return StatusFailed
	case s.GetEndTimeUnixNano() == 0:
		return StatusUnfinished
	case otlp.Text(a, otelmap.KeyToolOutcome) == otelmap.ToolOutcomeUnknown:
		return StatusUnknown
	case otlp.Text(a, otelmap.KeyToolOutcome) == otelmap.ToolOutcomeRunning:
		return StatusRunning
	}
	return StatusOK
}

func outcomeStatus(outcome string) Status {
	switch outcome {
	case otelmap.OutcomeCompleted:
		return StatusOK
	case otelmap.OutcomeFailed:
		return StatusFailed
	case otelmap.OutcomeCancelled, otelmap.OutcomeInterrupted:
		return StatusDenied
	case otelmap.OutcomeRunning:
		return StatusRunning
	}
	return StatusUnfinished
}
