package step

import (
	"iter"
	"slices"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// Tree is which span is below which. Spans are added in any order and not kept; then the tree
// answers by their places, which count from 0. None is no place.
type Tree struct {
	nodes  []treeNode
	at     map[treeKey]int
	placed bool
}

// None is the place of no span.
const None = -1

type treeKey struct {
	trace [16]byte
	span  [8]byte
}

type treeNode struct {
	above treeKey
	kind  Kind
	state placeState
	// parent, owner and root are places, depth counts the spans above up to the root, one more
	// if there is none.
	parent, owner, root, depth int
}

type placeState uint8

const (
	unplaced placeState = iota
	placing
	placed
)

// TreeOf returns the tree of spans, each at its place in the sequence.
func TreeOf(spans iter.Seq[*tracepb.Span]) *Tree {
	var t Tree
	for s := range spans {
		t.Add(Of(s))
	}
	return &t
}

// Add adds a span and returns its place. A span that is added again, by its trace and id, has
// the place that it had, and counts in its last version.
func (t *Tree) Add(s Step) int {
	if t.at == nil {
		t.at = make(map[treeKey]int)
	}
	key := keyOf(s.span.GetTraceId(), s.span.GetSpanId())
	i, again := t.at[key]
	if !again || !isSet(s.span.GetSpanId()) {
		i = len(t.nodes)
		t.nodes, t.at[key] = append(t.nodes, treeNode{}), i
	}
	t.nodes[i] = treeNode{kind: s.Kind(), above: keyOf(s.span.GetTraceId(), s.span.GetParentSpanId())}
	t.placed = false
	return i
}

func keyOf(trace, span []byte) (key treeKey) {
	copy(key.trace[:], trace)
	copy(key.span[:], span)
	return key
}

// Parent returns the span above, None for a run and for a span whose parent is not there.
func (t *Tree) Parent(i int) int { return t.node(i).parent }

// Root returns the run that a span is of, None if its run is not there.
func (t *Tree) Root(i int) int { return t.node(i).root }

// Owner returns the innermost subagent above a span, None for what the run's lead agent does.
// A run that a subagent started has a separate lead agent.
func (t *Tree) Owner(i int) int { return t.node(i).owner }

// Depth counts the spans above, up to the run, and the run if it is not there.
func (t *Tree) Depth(i int) int { return t.node(i).depth }

func (t *Tree) node(i int) *treeNode {
	if !t.placed {
		t.place()
	}
	return &t.nodes[i]
}

// place finds what is above each span.
func (t *Tree) place() {
	t.placed = true
	for i := range t.nodes {
		n := &t.nodes[i]
		n.state, n.parent, n.owner, n.root, n.depth = unplaced, None, None, None, 0
		if p, ok := t.at[n.above]; ok && n.kind != KindRun && isSet(n.above.span[:]) {
			n.parent = p
		}
	}
	for i := range t.nodes {
		t.placeAt(i)
	}
}

// placeAt places a span and those above it. The walk is iterative, so that no depth of nesting
// exhausts the stack; it breaks a loop of parents where it meets it.
func (t *Tree) placeAt(i int) {
	var path []int
	for i != None && t.nodes[i].state != placed {
		if t.nodes[i].state == placing {
			t.nodes[path[len(path)-1]].parent = None
			break
		}
		t.nodes[i].state = placing
		path = append(path, i)
		i = t.nodes[i].parent
	}
	for _, i := range slices.Backward(path) {
		n := &t.nodes[i]
		n.state = placed
		switch {
		case n.kind == KindRun:
			n.root = i
		case n.parent == None:
			n.depth = 1
		default:
			p := &t.nodes[n.parent]
			n.root, n.depth, n.owner = p.root, p.depth+1, p.owner
			if p.kind == KindAgent {
				n.owner = n.parent
			}
		}
	}
}
