package step_test

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/infinium"
	"github.com/hookspan/hookspan/infinium/connectors"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/testkit/recorded"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/otelmap/step"
)

// answers are what the readers of spans say of one.
type answers struct {
	Kind                          step.Kind
	Tool, Server, Model, Agent    string
	Arguments, ErrorType, Message string
	DeniedBy, Owner               string
	End                           otelmap.End
	Took                          time.Duration
	Usage                         *step.Usage
}

// of are those of this package.
func of(s *tracepb.Span, tree *step.Tree, i int, ids []string) answers {
	one := step.Of(s)
	a := answers{Kind: one.Kind(), End: one.End(), Took: one.Took(), Usage: (*step.Usage)(one.Usage())}
	at := func(i int) string {
		if i == step.None {
			return ""
		}
		return ids[i]
	}
	a.Owner = at(tree.Owner(i))
	switch a.Kind {
	case step.KindTool:
		f := one.Failure()
		a.Tool, a.Server, a.Arguments, a.DeniedBy = one.Tool(), one.Server(), one.Arguments(), one.DeniedBy()
		a.ErrorType, a.Message = f.Kind, f.Whole
		a.Usage = nil
	case step.KindRequest:
		a.Model = one.Model()
	case step.KindAgent:
		a.Agent = one.Agent()
	}
	return a
}

// TestReadersAgree holds what the store and the view say of each span of the recordings against
// this package.
func TestReadersAgree(t *testing.T) {
	spans := 0
	for _, run := range recorded.Spans(t) {
		messages := []*tracepb.ResourceSpans{run}
		var all []*tracepb.Span
		var ids []string
		var tree step.Tree
		for s := range otlp.Spans(messages) {
			all, ids = append(all, s), append(ids, otlp.SpanID(s))
			tree.Add(step.Of(s))
		}
		want := make(map[string]answers)
		for i, s := range all {
			want[ids[i]] = of(s, &tree, i, ids)
		}
		spans += len(all)
		w := store.WorkOf(&store.Trace{ResourceSpans: messages})
		got := make(map[string]answers)
		for i := range w.Calls {
			c := &w.Calls[i]
			got[c.Span] = answers{
				Kind: step.KindTool, Tool: c.Tool, Server: c.Server, Arguments: c.Arguments, ErrorType: c.ErrorType, Message: c.Error,
				DeniedBy: c.DeniedBy, End: c.Status, Took: c.Took, Owner: c.AgentSpan,
			}
		}
		for _, r := range w.Requests {
			got[r.Span] = answers{Kind: step.KindRequest, Model: r.Model, Usage: r.Usage, Owner: r.AgentSpan, End: want[r.Span].End, Took: want[r.Span].Took}
		}
		for _, a := range w.Subagents {
			got[a.Span] = answers{Kind: step.KindAgent, Agent: a.Name, Usage: a.Usage, Took: a.Took, End: want[a.Span].End, Owner: want[a.Span].Owner}
		}
		for id := range got {
			if d := gocmp.Diff(want[id], got[id]); d != "" {
				t.Errorf("span %s in the store's work (-step +work):\n%s", id, d)
			}
		}
		others := maps.Clone(want)
		maps.DeleteFunc(others, func(id string, a answers) bool {
			_, found := got[id]
			return found || a.Kind != step.KindTool && a.Kind != step.KindRequest && a.Kind != step.KindAgent
		})
		if len(others) > 0 {
			t.Errorf("the store's work lacks %v", others)
		}
		rows(t, messages, want)
	}
	if spans < 500 {
		t.Errorf("compared %d spans", spans)
	}
}

// rows holds the view's rows against this package.
func rows(t *testing.T, messages []*tracepb.ResourceSpans, want map[string]answers) {
	kinds := map[view.Kind]step.Kind{view.KindRun: step.KindRun, view.KindAgent: step.KindAgent, view.KindTool: step.KindTool, view.KindChat: step.KindRequest}
	for _, r := range view.Rows(&store.Trace{ResourceSpans: messages}) {
		if r.Span() == nil {
			continue
		}
		a, one := want[r.SpanID()], step.Of(r.Span())
		if kind := kinds[r.Kind]; kind != a.Kind && (kind != 0 || a.Kind != step.KindScript) || r.Status != a.End || r.Took() != a.Took {
			t.Errorf("row %s is %s %s of %s, want %+v", r.SpanID(), r.Kind, r.Status, r.Took(), a)
		}
		if r.Kind == view.KindTool && a.Tool != "" && r.Label != a.Tool {
			t.Errorf("row %s has the tool %q, want %q", r.SpanID(), r.Label, a.Tool)
		}
		if r.Kind == view.KindAgent && r.Agent() != a.Agent {
			t.Errorf("row %s has the agent %q, want %q", r.SpanID(), r.Agent(), a.Agent)
		}
		if d := gocmp.Diff(a.Usage, r.Usage()); d != "" {
			t.Errorf("row %s has another usage (-step +view):\n%s", r.SpanID(), d)
		}
		if kind, message := r.Problem(); r.Kind == view.KindTool {
			f := one.Failure()
			if kind != f.Kind || message != f.Message {
				t.Errorf("row %s failed with %q: %q, want %+v", r.SpanID(), kind, message, f)
			}
		}
		if ran, ok := r.Ran(); r.Kind == view.KindTool {
			if d, known := one.Ran(); d != ran || known != ok {
				t.Errorf("row %s ran %s, want %s", r.SpanID(), ran, d)
			}
		}
	}
}

// TestDenierIsOne holds those who denied a call, as a list of calls names them, against those
// that a trace's view names.
func TestDenierIsOne(t *testing.T) {
	denied := 0
	for _, run := range recorded.Spans(t) {
		messages := []*tracepb.ResourceSpans{run}
		of := make(map[string]*tracepb.Span)
		for s := range otlp.Spans(messages) {
			of[otlp.SpanID(s)] = s
		}
		for _, c := range store.WorkOf(&store.Trace{ResourceSpans: messages}).Calls {
			if c.Status != otelmap.EndDenied {
				continue
			}
			denied++
			who, why := view.DeniedBy(of[c.Span])
			got := view.Reason(&c)
			if !strings.HasPrefix(got, "denied by "+who) || c.DeniedBy == "" && !strings.HasSuffix(got, why) {
				t.Errorf("call %s of %s: a trace says %q for %q, the calls %q", c.Span, c.Tool, who, why, got)
			}
		}
	}
	if denied < 10 {
		t.Errorf("%d calls were denied", denied)
	}
}

// TestInfiniumAgrees holds the steps of Infinium's form against this package.
func TestInfiniumAgrees(t *testing.T) {
	for _, run := range recorded.Spans(t) {
		messages := []*tracepb.ResourceSpans{run}
		var want []string
		for s := range otlp.Spans(messages) {
			one := step.Of(s)
			if k := one.Kind(); k == step.KindTool {
				want = append(want, "Tool: "+cmp.Or(one.Tool(), "unknown")+map[bool]string{true: " (outcome unknown)"}[one.End() == otelmap.EndUnknown])
			} else if k == step.KindAgent {
				want = append(want, "Subagent: "+one.Agent())
			}
			if infinium.IsRoot(s) != (one.Kind() == step.KindRun) {
				t.Errorf("span %s is a root for one of the two", otlp.SpanID(s))
			}
		}
		var got []string
		for _, tr := range infinium.Traces(messages, connectors.Forms()) {
			for _, s := range tr.Steps {
				if s.Action != infinium.ActionPrompt && s.Action != infinium.ActionInjected {
					got = append(got, s.Description)
				}
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if d := gocmp.Diff(want, got); d != "" {
			t.Errorf("steps (-step +infinium):\n%s", d)
		}
	}
}
