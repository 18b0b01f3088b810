package infinium

import (
	"cmp"
	"math"
	"slices"
	"strings"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
)

// Run is the spans of one run, which become one trace.
type Run struct {
	// TraceID is in hex, zeros if the spans have none.
	TraceID string
	root    *node // nil if the root is missing
	nodes   []*node
}

// Root returns the span of the run itself, or nil if it is missing.
func (r *Run) Root() *tracepb.Span {
	if r.root == nil {
		return nil
	}
	return r.root.Span
}

// Spans returns the run's spans in the order in which they were given. Of a span
// that was given twice it returns the last version.
func (r *Run) Spans() []*tracepb.Span {
	out := make([]*tracepb.Span, len(r.nodes))
	for i, n := range r.nodes {
		out[i] = n.Span
	}
	return out
}

// Runs sorts finished spans into runs, in the order in which they first appear.
// Several runs share a trace id when they were started from one remote context,
// so the root decides, not the trace id alone.
func Runs(messages []*tracepb.ResourceSpans) []Run {
	nodes := link(messages)
	roots := make(map[string][]*node)
	for _, n := range nodes {
		if n.isRoot {
			roots[string(n.TraceId)] = append(roots[string(n.TraceId)], n)
		}
	}
	var runs []Run
	at := make(map[any]int)
	for _, n := range nodes {
		top := n.top
		if all := roots[string(n.TraceId)]; top == nil && len(all) == 1 {
			top = all[0]
		}
		var key any = string(n.TraceId)
		if top != nil {
			key = top
		}
		i, ok := at[key]
		if !ok {
			i = len(runs)
			at[key] = i
			runs = append(runs, Run{TraceID: cmp.Or(otlp.TraceID(n.Span), strings.Repeat("0", 32)), root: top})
		}
		runs[i].nodes = append(runs[i].nodes, n)
	}
	return runs
}

// IsRoot reports whether the span alone shows that it is the root of a run. To a
// caller that collects the spans of a trace it shows that a run has ended.
func IsRoot(s *tracepb.Span) bool {
	return (&node{Span: s, op: operation(s)}).roots()
}

// node is a span with its place in the tree.
type node struct {
	*tracepb.Span
	resource *resourcepb.Resource

	op     string
	isRoot bool
	parent *node // nil for roots and for spans whose parent is not here
	depth  int
	owner  *node // the nearest subagent above, nil for the lead agent's spans
	top    *node // the root above, nil if there is none
	state  placeState
}

type placeState int8

const (
	unplaced placeState = iota
	placing
	placed
)

type spanKey struct{ trace, span string }

func keyOf(s *tracepb.Span) spanKey { return spanKey{string(s.TraceId), string(s.SpanId)} }

// link makes a node of each span and links it with its parent.
func link(messages []*tracepb.ResourceSpans) []*node {
	var nodes []*node
	byKey := make(map[spanKey]*node)
	for _, m := range messages {
		for s := range otlp.Spans([]*tracepb.ResourceSpans{m}) {
			if s == nil {
				continue
			}
			key := keyOf(s)
			if old, ok := byKey[key]; ok && isSet(s.SpanId) {
				old.Span, old.resource = s, m.GetResource()
				continue
			}
			n := &node{Span: s, resource: m.GetResource()}
			byKey[key] = n
			nodes = append(nodes, n)
		}
	}
	for _, n := range nodes {
		n.op = operation(n.Span)
		if isSet(n.ParentSpanId) {
			n.parent = byKey[spanKey{string(n.TraceId), string(n.ParentSpanId)}]
		}
		if n.isRoot = n.roots(); n.isRoot {
			n.parent = nil
		}
	}
	for _, n := range nodes {
		n.place()
	}
	return nodes
}

// remoteParent are the flags of a span whose parent is known to be remote.
const remoteParent = uint32(tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK | tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK)

// roots distinguishes the span of a run from that of a subagent: a run has no
// parent or a remote one. The outcome counts too, because a store that the spans
// went through may have lost the flag of a remote parent.
func (n *node) roots() bool {
	if n.op != otelmap.OpInvokeAgent {
		return false
	}
	if !isSet(n.ParentSpanId) || n.Flags&remoteParent == remoteParent {
		return true
	}
	return n.parent == nil && text(n.Attributes, otelmap.KeyOutcome) != "" && text(n.Attributes, otelmap.KeyHost) != ""
}

// place finds the root, the owner and the depth of n. The walk is iterative, so
// that no depth of nesting exhausts the stack; it breaks a loop of parents where
// it meets it.
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
	for _, cur := range slices.Backward(path) {
		cur.state = placed
		p := cur.parent
		switch {
		case cur.isRoot:
			cur.top = cur
		case p == nil:
			cur.depth = 1
		default:
			cur.top, cur.depth, cur.owner = p.top, p.depth+1, p.owner
			if p.op == otelmap.OpInvokeAgent && !p.isRoot {
				cur.owner = p
			}
		}
	}
}

// isSet reports whether an id is valid: not all of its bytes are zero.
func isSet(id []byte) bool {
	return slices.ContainsFunc(id, func(b byte) bool { return b != 0 })
}

// operation is the span's gen_ai.operation.name, or else the first word of its
// name.
func operation(s *tracepb.Span) string {
	if op := text(s.GetAttributes(), otelmap.KeyOperation); op != "" {
		return op
	}
	word, _, _ := strings.Cut(s.GetName(), " ")
	return word
}

// object is what follows the operation in a span's name.
func object(s *tracepb.Span) string {
	_, rest, _ := strings.Cut(s.GetName(), " ")
	return clean(rest)
}

// text reads an attribute as clean text, empty if it is absent.
func text(attrs []*commonpb.KeyValue, key string) string {
	return clean(otlp.Format(otlp.Find(attrs, key)))
}

// amount reads a finite amount that is not negative, or else returns nil.
func amount(attrs []*commonpb.KeyValue, key string) *float64 {
	v, ok := otlp.Find(attrs, key).GetValue().(*commonpb.AnyValue_DoubleValue)
	if !ok || !(v.DoubleValue >= 0 && v.DoubleValue <= math.MaxFloat64) {
		return nil
	}
	return &v.DoubleValue
}

// count reads an integer that is not negative, or else returns nil.
func count(attrs []*commonpb.KeyValue, key string) *int64 {
	n, ok := otlp.Integer(attrs, key)
	if !ok || n < 0 {
		return nil
	}
	return &n
}
