package rig

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/internal/sink"
)

// Trace is the received spans of one trace, each once.
type Trace struct {
	ID string
	// Root is the span without a parent.
	Root *sink.Span
	// Spans are all spans, the root included, by start and then by end, the
	// longer one first.
	Spans []*sink.Span
}

// Traces groups spans by trace, the trace that began first coming first, and
// checks what holds for every trace whatever the agent did: one root; every
// parent present; no span twice with different content; no end before its
// start. It returns what is wrong, one line each.
func Traces(spans []sink.Span) (traces []*Trace, wrong []string) {
	byID := make(map[string]*sink.Span, len(spans))
	byTrace := make(map[string]*Trace)
	for i := range spans {
		s := &spans[i]
		key := s.TraceID + "/" + s.SpanID
		if old := byID[key]; old != nil {
			if !reflect.DeepEqual(old, s) {
				wrong = append(wrong, fmt.Sprintf("span %s %q came twice and differs", key, s.Name))
			}
			continue
		}
		byID[key] = s
		t := byTrace[s.TraceID]
		if t == nil {
			t = &Trace{ID: s.TraceID}
			byTrace[s.TraceID] = t
		}
		t.Spans = append(t.Spans, s)
	}
	for _, t := range byTrace {
		slices.SortStableFunc(t.Spans, func(a, b *sink.Span) int {
			return cmp.Or(a.Start.Compare(b.Start), b.End.Compare(a.End))
		})
		for _, s := range t.Spans {
			switch {
			case s.Root() && t.Root != nil:
				wrong = append(wrong, fmt.Sprintf("trace %s has a second root %q beside %q", t.ID, s.Name, t.Root.Name))
			case s.Root():
				t.Root = s
			case byID[t.ID+"/"+s.ParentID] == nil:
				wrong = append(wrong, fmt.Sprintf("span %q of trace %s has a parent %s that did not come", s.Name, t.ID, s.ParentID))
			}
			if s.End.Before(s.Start) {
				wrong = append(wrong, fmt.Sprintf("span %q of trace %s ends %s before it starts", s.Name, t.ID, s.Start.Sub(s.End)))
			}
		}
		if t.Root == nil {
			wrong = append(wrong, fmt.Sprintf("trace %s has no root among %d spans", t.ID, len(t.Spans)))
		}
	}
	traces = slices.SortedFunc(maps.Values(byTrace), func(a, b *Trace) int {
		return cmp.Or(a.Spans[0].Start.Compare(b.Spans[0].Start), strings.Compare(a.ID, b.ID))
	})
	return traces, wrong
}

// Operation returns the spans whose gen_ai.operation.name is op, in order.
func (t *Trace) Operation(op string) []*sink.Span {
	var out []*sink.Span
	for _, s := range t.Spans {
		if s.Attrs.String(otelmap.KeyOperation) == op {
			out = append(out, s)
		}
	}
	return out
}

// Outcome is the root's hookspan.outcome, empty without a root.
func (t *Trace) Outcome() string {
	if t.Root == nil {
		return ""
	}
	return t.Root.Attrs.String(otelmap.KeyOutcome)
}

// Tool is what tests compare of a tool span.
type Tool struct {
	Name string
	// Error is error.type; empty for a tool that worked.
	Error string
	// Under names the tool whose subagent made the call, empty for the lead.
	Under string
}

// Tools returns the trace's tool calls in the order of their starts. A tool
// whose status contradicts its error.type has "status Error" or so appended to
// Error.
func (t *Trace) Tools() []Tool {
	var out []Tool
	for _, s := range t.Operation(otelmap.OpExecuteTool) {
		tool := Tool{Name: s.Attrs.String(otelmap.KeyToolName), Error: s.Attrs.String(otelmap.KeyErrorType)}
		if (s.Status == "Error") != (tool.Error != "") {
			tool.Error += " status " + s.Status
		}
		if caller := t.Caller(s); caller != nil {
			tool.Under = caller.Attrs.String(otelmap.KeyToolName)
		}
		out = append(out, tool)
	}
	return out
}

// Caller is the tool call whose subagent made the call s; nil for a call of the lead.
func (t *Trace) Caller(s *sink.Span) *sink.Span {
	for !s.Root() {
		i := slices.IndexFunc(t.Spans, func(p *sink.Span) bool { return p.SpanID == s.ParentID })
		if i < 0 {
			return nil
		}
		if s = t.Spans[i]; s.Attrs.String(otelmap.KeyOperation) == otelmap.OpExecuteTool {
			return s
		}
	}
	return nil
}

// Tokens is a token count as spans carry it. Input includes what came from and
// went into the cache.
type Tokens struct {
	Input, Output, CacheRead, CacheWrite int64
}

// TokensOf reads the counts of a span; ok is false where it has none.
func TokensOf(s *sink.Span) (tk Tokens, ok bool) {
	key := func(key string) string { return key }
	if s.Attrs.String(otelmap.KeyOperation) != otelmap.OpChat {
		key = otelmap.RunKey
	}
	in, okIn := s.Attrs.Int(key(otelmap.KeyInputTokens))
	out, okOut := s.Attrs.Int(key(otelmap.KeyOutputTokens))
	read, _ := s.Attrs.Int(key(otelmap.KeyCacheReadTokens))
	write, _ := s.Attrs.Int(key(otelmap.KeyCacheWriteTokens))
	return Tokens{Input: in, Output: out, CacheRead: read, CacheWrite: write}, okIn || okOut
}

// Plus returns the sum of both counts.
func (t Tokens) Plus(u Tokens) Tokens {
	return Tokens{t.Input + u.Input, t.Output + u.Output, t.CacheRead + u.CacheRead, t.CacheWrite + u.CacheWrite}
}

// CompareTokens compares the trace's chat spans and the sums on its root with
// the counts of the requests that the model really answered for it, in order.
// It returns what differs, one line each.
//
// lastOpen says that the host may end before it has written the usage of its
// last answer, as Cline's classic core does: then that one may have no counts,
// and the sums may lack it.
func (t *Trace) CompareTokens(want []Tokens, lastOpen bool) (wrong []string) {
	var got []Tokens
	for _, s := range t.Operation(otelmap.OpChat) {
		// A request that failed has no counts, or zeros where the host writes them.
		if tk, ok := TokensOf(s); ok && tk != (Tokens{}) {
			got = append(got, tk)
		}
	}
	if lastOpen && len(got) == len(want)-1 {
		want = want[:len(want)-1]
	}
	if !slices.Equal(want, got) {
		wrong = append(wrong, fmt.Sprintf("tokens of the chat spans: model answered %+v, spans say %+v", want, got))
	}
	return append(wrong, t.CompareSum(want)...)
}

// CompareSum compares the sums on the trace's root with the counts of its
// requests. It returns what differs, one line each.
func (t *Trace) CompareSum(want []Tokens) (wrong []string) {
	if t.Root == nil {
		return []string{"no root to compare sums on"}
	}
	var sum Tokens
	for _, tk := range want {
		sum = sum.Plus(tk)
	}
	if total, _ := TokensOf(t.Root); total != sum {
		wrong = append(wrong, fmt.Sprintf("sums on the root: want %+v, got %+v", sum, total))
	}
	return wrong
}

// CompareOutcome compares the root's outcome and status, its task and the name
// of the service with what they are to be. It returns what differs, one line
// each.
func (t *Trace) CompareOutcome(outcome, task, service string) (wrong []string) {
	if t.Root == nil {
		return []string{"no root to compare the outcome of"}
	}
	if t.Outcome() != outcome {
		wrong = append(wrong, fmt.Sprintf("outcome %q, want %q", t.Outcome(), outcome))
	}
	if isError := outcome == otelmap.OutcomeFailed || outcome == otelmap.OutcomeAbandoned; isError != (t.Root.Status == "Error") {
		wrong = append(wrong, fmt.Sprintf("status of the root is %s with outcome %s", t.Root.Status, t.Outcome()))
	}
	if got := t.Root.Attrs.String(otelmap.KeyInputValue); got != task {
		wrong = append(wrong, fmt.Sprintf("task %q, want %q", got, task))
	}
	if got := t.Root.Resource.String(otelmap.KeyServiceName); got != service {
		wrong = append(wrong, fmt.Sprintf("service.name %q, want %q", got, service))
	}
	return wrong
}

// LinksTo reports whether the trace's root links to the root of the other.
func (t *Trace) LinksTo(other *Trace) bool {
	return t.Root != nil && other.Root != nil && slices.ContainsFunc(t.Root.Links, func(l sink.Link) bool {
		return l.TraceID == other.ID && l.SpanID == other.Root.SpanID
	})
}
