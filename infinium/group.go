package infinium

import (
	"math"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/hookspan/hookspan/otelmap"
)

// run is the spans of one run: a root and what hangs below it, or, without a
// root, what came late.
type run struct {
	traceID trace.TraceID
	root    *node // nil when late
	nodes   []*node
}

// node is a span with its place in the tree.
type node struct {
	sdktrace.ReadOnlySpan

	op     string
	isRoot bool
	parent *node // nil for roots and for spans whose parent is elsewhere
	depth  int
	// owner is the nearest subagent above, nil for the lead agent's spans.
	owner *node
	top   *node // the root above, nil when there is none

	state int8
}

const (
	unplaced int8 = iota
	placing
	placed
)

type spanKey struct {
	trace trace.TraceID
	span  trace.SpanID
}

// group sorts spans into runs, in the order in which they first appear. Several
// runs share a trace id when they were started from one remote context, so the
// root decides, not the trace id alone. A span given twice counts once, in its
// last version.
func group(spans []sdktrace.ReadOnlySpan) []run {
	nodes := make([]*node, 0, len(spans))
	byKey := make(map[spanKey]*node, len(spans))
	for _, s := range spans {
		if s == nil {
			continue
		}
		sc := s.SpanContext()
		key := spanKey{sc.TraceID(), sc.SpanID()}
		if old, ok := byKey[key]; ok && sc.SpanID().IsValid() {
			old.ReadOnlySpan = s
			continue
		}
		n := &node{ReadOnlySpan: s}
		byKey[key] = n
		nodes = append(nodes, n)
	}
	for _, n := range nodes {
		n.op = operation(n)
		p := n.Parent()
		n.parent = byKey[spanKey{n.SpanContext().TraceID(), p.SpanID()}]
		if !p.SpanID().IsValid() {
			n.parent = nil
		}
		n.isRoot = isRoot(n)
		if n.isRoot {
			n.parent = nil
		}
	}
	roots := make(map[trace.TraceID][]*node)
	for _, n := range nodes {
		n.place()
		if n.isRoot {
			id := n.SpanContext().TraceID()
			roots[id] = append(roots[id], n)
		}
	}

	var runs []run
	at := make(map[any]int)
	for _, n := range nodes {
		id := n.SpanContext().TraceID()
		top := n.top
		if top == nil && len(roots[id]) == 1 {
			top = roots[id][0]
		}
		var key any = id
		if top != nil {
			key = top
		}
		i, ok := at[key]
		if !ok {
			i = len(runs)
			at[key] = i
			runs = append(runs, run{traceID: id, root: top})
		}
		runs[i].nodes = append(runs[i].nodes, n)
	}
	return runs
}

// isRoot tells the span of a run from that of a subagent: a run has no parent
// or one from outside. The outcome counts too, because a store between the
// mapping and here may forget that a parent was remote.
func isRoot(n *node) bool {
	if n.op != otelmap.OpInvokeAgent {
		return false
	}
	p := n.Parent()
	if !p.SpanID().IsValid() || p.IsRemote() {
		return true
	}
	return n.parent == nil && text(n.Attributes(), otelmap.KeyOutcome) != "" && text(n.Attributes(), otelmap.KeyHost) != ""
}

// place finds what stands above n. The walk is iterative, so that no depth of
// nesting exhausts the stack; a loop of parents is broken where it is met.
func (n *node) place() {
	var path []*node
	for cur := n; cur != nil && cur.state != placed; cur = cur.parent {
		if cur.state == placing {
			path[len(path)-1].parent = nil
			break
		}
		cur.state = placing
		path = append(path, cur)
	}
	for i := len(path) - 1; i >= 0; i-- {
		cur := path[i]
		cur.state = placed
		if cur.isRoot {
			cur.top = cur
			continue
		}
		p := cur.parent
		if p == nil {
			cur.depth = 1
			continue
		}
		cur.top, cur.depth, cur.owner = p.top, p.depth+1, p.owner
		if p.op == otelmap.OpInvokeAgent && !p.isRoot {
			cur.owner = p
		}
	}
}

// operation is the span's gen_ai.operation.name, else what its name says.
func operation(s sdktrace.ReadOnlySpan) string {
	if op := text(s.Attributes(), otelmap.KeyOperation); op != "" {
		return op
	}
	word, _, _ := strings.Cut(s.Name(), " ")
	return word
}

// object is what follows the operation in a span's name.
func object(s sdktrace.ReadOnlySpan) string {
	_, rest, _ := strings.Cut(s.Name(), " ")
	return rest
}

// lookup returns the value of a key; spans have few attributes.
func lookup(attrs []attribute.KeyValue, key attribute.Key) (attribute.Value, bool) {
	for i := range attrs {
		if attrs[i].Key == key {
			return attrs[i].Value, true
		}
	}
	return attribute.Value{}, false
}

func text(attrs []attribute.KeyValue, key attribute.Key) string {
	v, ok := lookup(attrs, key)
	if !ok {
		return ""
	}
	if v.Type() == attribute.STRING {
		return clean(v.AsString())
	}
	return clean(v.String())
}

func truth(attrs []attribute.KeyValue, key attribute.Key) bool {
	v, ok := lookup(attrs, key)
	return ok && v.Type() == attribute.BOOL && v.AsBool()
}

// amount reads a finite amount that is not negative, nil when there is none.
func amount(attrs []attribute.KeyValue, key attribute.Key) *float64 {
	v, ok := lookup(attrs, key)
	if !ok || v.Type() != attribute.FLOAT64 {
		return nil
	}
	f := v.AsFloat64()
	if math.IsNaN(f) || math.IsInf(f, 0) || f < 0 {
		return nil
	}
	return &f
}

// count reads a count, nil when there is none.
func count(attrs []attribute.KeyValue, key attribute.Key) *int64 {
	v, ok := lookup(attrs, key)
	if !ok || v.Type() != attribute.INT64 || v.AsInt64() < 0 {
		return nil
	}
	n := v.AsInt64()
	return &n
}
