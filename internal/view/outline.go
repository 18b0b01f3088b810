package view

import (
	"cmp"
	"encoding/hex"
	"slices"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/store"
	"github.com/hookspan/hookspan/otelmap"
)

// Outline makes the rows of a trace of its spans, of which it keeps no texts: those of
// 100,000 spans take some 20 MB.
type Outline struct {
	model string
	spans []node
	// events are those of all spans, each after its predecessor in the span.
	events []Row
	// parents has the ids of the parents, so that siblings share them.
	parents map[string]string
}

// node is a span before it has its place in the tree.
type node struct {
	Row
	parent string
	// from and to bound the span's events.
	from, to int32
}

// NewOutline returns an outline without spans of the trace with the summary.
func NewOutline(sum *store.Summary) *Outline {
	return &Outline{model: sum.Model, spans: make([]node, 0, sum.Spans), parents: make(map[string]string)}
}

// NewSkimmer returns a skimmer that keeps what an Outline needs.
func NewSkimmer() *otlp.Skimmer {
	return otlp.NewSkimmer([]string{
		otelmap.KeyOperation, otelmap.KeyHost, otelmap.KeyOutcome, otelmap.KeyErrorType, otelmap.KeyToolName, otelmap.KeyToolOutcome,
		otelmap.KeyRequestModel, otelmap.KeyHostDuration, otelmap.KeyHookDecision, otelmap.KeyHookDuration,
		otelmap.KeyInputTokens, otelmap.KeyOutputTokens, otelmap.KeyCacheReadTokens, otelmap.KeyCacheWriteTokens, otelmap.KeyCost,
	}, []string{otelmap.KeyTask})
}

// Add adds a span, which it does not keep.
func (o *Outline) Add(s *tracepb.Span) { o.add(s, false) }

func (o *Outline) add(s *tracepb.Span, keep bool) {
	n := node{from: int32(len(o.events))} //nolint:gosec // A trace has fewer.
	n.place, n.ran, n.id = int32(len(o.spans)), -1, string(s.GetSpanId())
	n.describeSpan(s, o.model)
	if keep {
		n.span = s
	}
	for i, e := range s.GetEvents() {
		// Exceptions are shown with the span itself.
		if e.GetName() == otelmap.EventException {
			continue
		}
		r := Row{place: n.place, number: int32(i), ran: -1}
		r.describeEvent(e)
		if keep {
			r.event = e
		}
		o.events = append(o.events, r)
	}
	n.to = int32(len(o.events)) //nolint:gosec // as above
	// Siblings share the id of their parent.
	ok := false
	if n.parent, ok = o.parents[string(s.GetParentSpanId())]; !ok {
		n.parent = string(s.GetParentSpanId())
		o.parents[n.parent] = n.parent
	}
	o.spans = append(o.spans, n)
}

// none is no node: the parent of a top, or of a span whose parent is missing.
const none = -1

// Rows returns the rows of the spans that were added, and empties the outline. At the
// top are the runs, whatever parent they name, and spans without a parent. Every span
// is in one row.
func (o *Outline) Rows() []Row {
	// Nodes are named by numbers: the spans first, then the events, then the top that
	// a trace without one needs.
	count := len(o.spans)
	top := count + len(o.events)
	order := make([]int32, count)
	for i := range order {
		order[i] = int32(i) //nolint:gosec // A trace has fewer.
	}
	slices.SortFunc(order, func(x, y int32) int {
		a, b := &o.spans[x], &o.spans[y]
		return cmp.Or(a.Start.Compare(b.Start), b.End.Compare(a.End), cmp.Compare(a.id, b.id), cmp.Compare(x, y))
	})
	parents, tops := o.arrange(order)
	if len(tops) == 0 {
		tops = []int32{int32(top)} //nolint:gosec // as above
	}
	for i := range o.spans {
		if o.spans[i].Detached {
			parents[i] = tops[0]
		}
	}
	children, from := o.children(order, parents, top+1)

	rows := make([]Row, 0, top+1)
	type step struct{ node, depth int32 }
	var todo []step
	for _, t := range slices.Backward(tops) {
		todo = append(todo, step{t, 0})
	}
	calls := 0
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		r := Row{Kind: KindNoRoot, Status: StatusUnfinished, Label: "(no root span)", ran: -1, place: none}
		switch n := int(s.node); {
		case n < count:
			r = o.spans[n].Row
		case n < top:
			r = o.events[n-count]
		}
		if r.Depth = int(s.depth); r.Kind == KindTool {
			calls++
			r.Number = calls
		}
		rows = append(rows, r)
		for _, c := range slices.Backward(children[from[s.node]:from[s.node+1]]) {
			todo = append(todo, step{c, s.depth + 1})
		}
	}
	*o = Outline{}
	return rows
}

// arrange returns the parent of each span, and the spans at the top in their order.
func (o *Outline) arrange(order []int32) (parents, tops []int32) {
	byID := make(map[string]int32, len(o.spans))
	for i := range o.spans {
		byID[o.spans[i].id] = int32(i) //nolint:gosec // as above
	}
	parents = make([]int32, len(o.spans))
	var others []int32
	for _, i := range order {
		n := &o.spans[i]
		parent, ok := byID[n.parent]
		if parents[i] = parent; !ok {
			parents[i] = none
		}
		switch {
		case !ok && n.Kind == KindRun:
			tops = append(tops, i)
		case n.parent == "":
			others = append(others, i)
		case !ok:
			n.Detached = true
		}
	}
	// One span of each cycle of parents is detached.
	seen := make([]int32, len(o.spans))
	for at, i := range order {
		walk := int32(at + 1) //nolint:gosec // as above
		for i != none && seen[i] == 0 {
			seen[i] = walk
			i = parents[i]
		}
		if i != none && seen[i] == walk {
			o.spans[i].Detached = true
		}
	}
	return parents, append(tops, others...)
}

// children returns the nodes below each node, those of node i from from[i] to
// from[i+1].
func (o *Outline) children(order, parents []int32, nodes int) (children, from []int32) {
	from = make([]int32, nodes+2)
	for i, p := range parents {
		n := &o.spans[i]
		from[i+2] += n.to - n.from
		if p != none {
			from[p+2]++
		}
	}
	for i := range nodes {
		from[i+2] += from[i+1]
	}
	// from[i+1] is now where the next child of node i goes, and its end at last.
	children = make([]int32, from[nodes+1])
	put := func(parent, child int32) {
		children[from[parent+1]] = child
		from[parent+1]++
	}
	for _, i := range order {
		for e := o.spans[i].from; e < o.spans[i].to; e++ {
			put(i, int32(len(o.spans))+e) //nolint:gosec // as above
		}
	}
	for _, i := range order {
		if parents[i] != none {
			put(parents[i], i)
		}
	}
	byTime := func(x, y int32) int { return o.at(x).Start.Compare(o.at(y).Start) }
	for i := range nodes {
		if some := children[from[i]:from[i+1]]; !slices.IsSortedFunc(some, byTime) {
			slices.SortStableFunc(some, byTime)
		}
	}
	return children, from
}

// at returns the row of a span or an event.
func (o *Outline) at(node int32) *Row {
	if n := int(node) - len(o.spans); n >= 0 {
		return &o.events[n]
	}
	return &o.spans[node].Row
}

// Find returns the row of the span with the id in hexadecimal, -1 if there is none.
func Find(rows []Row, id string) int {
	raw, err := hex.DecodeString(id)
	if err != nil || id == "" {
		return -1
	}
	return slices.IndexFunc(rows, func(r Row) bool { return r.id == string(raw) })
}
