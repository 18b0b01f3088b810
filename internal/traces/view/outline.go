package view

import (
	"cmp"
	"encoding/hex"
	"math"
	"slices"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/otelmap/step"
)

// Outline is the rows of a trace without their texts: those of 100,000 spans take some
// 10 MB. Spans are added, then arranged, then read as rows.
type Outline struct {
	model string
	// nodes are the spans as they were added, then the events, then the top that a
	// trace without one needs. spans counts the first of these.
	nodes, events []node
	spans         int
	// ids are those of spans and of parents, labels those of rows: nodes have their
	// places.
	ids, labels   []string
	idAt, labelAt map[string]int32
	// order has the nodes of the rows, above the row above each.
	order, above []int32
}

// node is a row as Outline keeps it.
type node struct {
	start, end uint64
	usage      *store.Usage
	label      int32
	// id and parent are places in ids. The id of an event is its number in the span.
	id, parent    int32
	place         int32
	ran           int32 // milliseconds
	depth, number int32
	kind          uint8
	status        otelmap.End
	event         uint8 // the place in rowEvents
	detached      bool
}

// none is no node, no id and no time.
const none = -1

var rowKinds = []Kind{KindRun, KindAgent, KindTool, KindChat, KindSpan, KindEvent, KindNoRoot}

// rowEvents are the events that readers tell apart, after the name of all others.
var rowEvents = []string{
	"", otelmap.EventHook, otelmap.EventPrompt, otelmap.EventPermission, otelmap.EventCompaction, otelmap.EventUsage,
}

// NewOutline returns an outline without spans of the trace with the summary.
func NewOutline(sum *store.Summary) *Outline {
	return &Outline{
		model: sum.Model, nodes: make([]node, 0, sum.Spans+1), ids: make([]string, 0, sum.Spans+1),
		idAt: make(map[string]int32, sum.Spans), labelAt: make(map[string]int32),
	}
}

// NewSkimmer returns a skimmer that keeps what an Outline needs.
func NewSkimmer() *otlp.Skimmer {
	return step.NewSkimmer(step.PartKind, step.PartEnd, step.PartTool, step.PartRan, step.PartModel, step.PartUsage, step.PartHookEnds, step.PartWaits)
}

// Add adds a span, which the outline does not keep.
func (o *Outline) Add(s *tracepb.Span) {
	var r Row
	r.ran = none
	r.describeSpan(s, o.model)
	n := o.pack(&r)
	n.place, n.id, n.parent = int32(len(o.nodes)), o.id(s.GetSpanId()), none //nolint:gosec // A trace has fewer.
	if len(s.GetParentSpanId()) > 0 {
		n.parent = o.id(s.GetParentSpanId())
	}
	o.nodes = append(o.nodes, n)
	for i, e := range s.GetEvents() {
		// Exceptions are shown with the span itself.
		if e.GetName() == otelmap.EventException {
			continue
		}
		r = Row{ran: none}
		r.describeEvent(e)
		event := o.pack(&r)
		event.place, event.id = n.place, int32(i) //nolint:gosec // as above
		o.events = append(o.events, event)
	}
}

// pack makes a node of what was described.
func (o *Outline) pack(r *Row) node {
	label, ok := o.labelAt[r.Label]
	if !ok {
		label = int32(len(o.labels)) //nolint:gosec // as above
		o.labels, o.labelAt[r.Label] = append(o.labels, r.Label), label
	}
	ran := int32(none)
	if r.ran >= 0 {
		ran = int32(min(r.ran.Milliseconds(), math.MaxInt32)) //nolint:gosec // bounded
	}
	return node{
		start: otlp.UnixNano(r.Start), end: otlp.UnixNano(r.End), usage: r.usage, label: label, ran: ran,
		kind: uint8(slices.Index(rowKinds, r.Kind)), event: uint8(max(0, slices.Index(rowEvents, r.Event))), status: r.Status, //nolint:gosec // few
	}
}

// id returns the place of an id.
func (o *Outline) id(b []byte) int32 {
	at, ok := o.idAt[string(b)]
	if !ok {
		at = int32(len(o.ids)) //nolint:gosec // as above
		id := string(b)
		o.ids, o.idAt[id] = append(o.ids, id), at
	}
	return at
}

// Len returns the number of rows.
func (o *Outline) Len() int { return len(o.order) }

// Above returns the row above row i, -1 at the top.
func (o *Outline) Above(i int) int { return int(o.above[i]) }

// Kind returns what row i shows.
func (o *Outline) Kind(i int) Kind { return rowKinds[o.nodes[o.order[i]].kind] }

// Row returns row i without its texts; With adds them.
func (o *Outline) Row(i int) Row {
	n := &o.nodes[o.order[i]]
	r := Row{
		Depth: int(n.depth), Kind: rowKinds[n.kind], Status: n.status, Event: rowEvents[n.event], Label: o.labels[n.label], Start: otlp.Time(n.start), End: otlp.Time(n.end),
		Number: int(n.number), Detached: n.detached, usage: n.usage, ran: none, place: n.place,
	}
	if n.ran >= 0 {
		r.ran = time.Duration(n.ran) * time.Millisecond
	}
	if r.Kind == KindEvent {
		r.number = n.id
	} else if n.id >= 0 {
		r.id = o.ids[n.id]
	}
	return r
}

// Find returns the row of the span with the id in hexadecimal, -1 if there is none.
func (o *Outline) Find(id string) int {
	raw, err := hex.DecodeString(id)
	if err != nil || id == "" {
		return none
	}
	return slices.IndexFunc(o.order, func(n int32) bool {
		return int(n) < o.spans && o.ids[o.nodes[n].id] == string(raw)
	})
}

// Arrange makes rows of the spans that were added: a tree in depth-first order, siblings
// in the order of time. At the top are the runs, whatever parent they name, and spans
// without a parent. Every span is in one row.
func (o *Outline) Arrange() {
	o.spans = len(o.nodes)
	o.idAt, o.labelAt = nil, nil
	order := make([]int32, o.spans)
	for i := range order {
		order[i] = int32(i) //nolint:gosec // as above
	}
	slices.SortFunc(order, func(x, y int32) int {
		a, b := &o.nodes[x], &o.nodes[y]
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end), cmp.Compare(o.ids[a.id], o.ids[b.id]), cmp.Compare(x, y))
	})
	tops := o.attach(order)
	if len(tops) == 0 {
		tops = []int32{int32(o.spans + len(o.events))} //nolint:gosec // as above
	}
	// From now on the parent of a node is a node.
	for i := range o.nodes {
		if o.nodes[i].detached {
			o.nodes[i].parent = tops[0]
		}
	}
	for _, e := range o.events {
		e.parent = e.place
		o.nodes = append(o.nodes, e)
	}
	o.events = nil
	if o.labels = append(o.labels, "(no root span)"); int(tops[0]) == len(o.nodes) {
		o.nodes = append(o.nodes, node{
			id: none, parent: none, place: none, ran: none, label: int32(len(o.labels) - 1), //nolint:gosec // as above
			kind: uint8(slices.Index(rowKinds, KindNoRoot)), status: otelmap.EndUnfinished, //nolint:gosec // few
		})
	}
	// The events of a span are before the spans that begin with them.
	all := make([]int32, 0, len(o.nodes))
	for i := o.spans; i < len(o.nodes); i++ {
		all = append(all, int32(i)) //nolint:gosec // as above
	}
	o.walk(tops, append(all, order...))
}

// attach replaces the parents' ids by nodes and returns the nodes at the top.
func (o *Outline) attach(order []int32) (tops []int32) {
	owner := make([]int32, len(o.ids)) // the span with each id
	for i := range owner {
		owner[i] = none
	}
	for i := range o.nodes {
		owner[o.nodes[i].id] = int32(i) //nolint:gosec // as above
	}
	var others []int32
	for _, i := range order {
		n := &o.nodes[i]
		named := n.parent != none
		if named {
			n.parent = owner[n.parent]
		}
		switch {
		case n.parent == none && rowKinds[n.kind] == KindRun:
			tops = append(tops, i)
		case !named:
			others = append(others, i)
		case n.parent == none:
			n.detached = true
		}
	}
	// One span of each cycle of parents is detached.
	seen := make([]int32, len(o.nodes))
	for at, i := range order {
		walk := int32(at + 1) //nolint:gosec // as above
		for i != none && seen[i] == 0 {
			seen[i] = walk
			i = o.nodes[i].parent
		}
		if i != none && seen[i] == walk {
			o.nodes[i].detached = true
		}
	}
	return append(tops, others...)
}

// walk makes rows of the nodes below the tops. nodes has all, in the order of siblings
// that begin at the same time.
func (o *Outline) walk(tops, nodes []int32) {
	// The children of node i are from[i] to from[i+1].
	from := make([]int32, len(o.nodes)+2)
	for i := range o.nodes {
		if p := o.nodes[i].parent; p != none {
			from[p+2]++
		}
	}
	for i := range o.nodes {
		from[i+2] += from[i+1]
	}
	children := make([]int32, from[len(o.nodes)+1])
	for _, i := range nodes {
		if p := o.nodes[i].parent; p != none {
			children[from[p+1]] = i
			from[p+1]++
		}
	}
	byTime := func(x, y int32) int { return cmp.Compare(o.nodes[x].start, o.nodes[y].start) }
	for i := range o.nodes {
		if some := children[from[i]:from[i+1]]; !slices.IsSortedFunc(some, byTime) {
			slices.SortStableFunc(some, byTime)
		}
	}
	o.order, o.above = make([]int32, 0, len(o.nodes)), make([]int32, 0, len(o.nodes))
	type step struct{ node, above int32 }
	var todo []step
	for _, t := range slices.Backward(tops) {
		todo = append(todo, step{t, none})
	}
	calls := int32(0)
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		n := &o.nodes[s.node]
		if s.above != none {
			n.depth = o.nodes[o.order[s.above]].depth + 1
		}
		if rowKinds[n.kind] == KindTool {
			calls++
			n.number = calls
		}
		row := int32(len(o.order)) //nolint:gosec // as above
		o.order, o.above = append(o.order, s.node), append(o.above, s.above)
		for _, c := range slices.Backward(children[from[s.node]:from[s.node+1]]) {
			todo = append(todo, step{c, row})
		}
	}
}
