package infinium

import (
	"cmp"
	"strings"

	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap/step"
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

// lead is the step of the run itself, an empty one if it is missing.
func (r *Run) lead() step.Step { return step.Of(r.Root()) }

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
		if n.kind == step.KindRun {
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
func IsRoot(s *tracepb.Span) bool { return step.Of(s).Kind() == step.KindRun }

// node is a span with its place in the tree.
type node struct {
	*tracepb.Span
	resource *resourcepb.Resource

	step  step.Step
	kind  step.Kind
	depth int
	owner *node // the nearest subagent above, nil for the lead agent's spans
	top   *node // the root above, nil if there is none
}

type spanKey struct{ trace, span string }

func keyOf(s *tracepb.Span) spanKey { return spanKey{string(s.TraceId), string(s.SpanId)} }

// link makes a node of each span and finds what is above it.
func link(messages []*tracepb.ResourceSpans) []*node {
	var nodes []*node
	var tree step.Tree
	for _, m := range messages {
		for s := range otlp.Spans([]*tracepb.ResourceSpans{m}) {
			if s == nil {
				continue
			}
			n := &node{Span: s, resource: m.GetResource(), step: step.Of(s), kind: step.Of(s).Kind()}
			if at := tree.Add(n.step); at < len(nodes) {
				nodes[at] = n
			} else {
				nodes = append(nodes, n)
			}
		}
	}
	for i, n := range nodes {
		n.depth = tree.Depth(i)
		if owner := tree.Owner(i); owner != step.None {
			n.owner = nodes[owner]
		}
		if root := tree.Root(i); root != step.None {
			n.top = nodes[root]
		}
	}
	return nodes
}

// known is a figure of a step, nil if it is not known.
func known[N int64 | float64](n N, ok bool) *N {
	if !ok {
		return nil
	}
	return &n
}
