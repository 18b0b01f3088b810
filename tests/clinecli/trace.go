package clinecli

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/clinecli/mockllm"
	"github.com/hookspan/hookspan/tests/clinecli/sink"
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
		if s.Attrs.String(string(otelmap.KeyOperation)) == op {
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
	return t.Root.Attrs.String(string(otelmap.KeyOutcome))
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
	byID := make(map[string]*sink.Span, len(t.Spans))
	for _, s := range t.Spans {
		byID[s.SpanID] = s
	}
	var out []Tool
	for _, s := range t.Operation(otelmap.OpExecuteTool) {
		tool := Tool{Name: s.Attrs.String(string(otelmap.KeyToolName)), Error: s.Attrs.String(string(otelmap.KeyErrorType))}
		if (s.Status == "Error") != (tool.Error != "") {
			tool.Error += " status " + s.Status
		}
		for p := byID[s.ParentID]; p != nil; p = byID[p.ParentID] {
			if p.Attrs.String(string(otelmap.KeyOperation)) == otelmap.OpExecuteTool {
				tool.Under = p.Attrs.String(string(otelmap.KeyToolName))
				break
			}
		}
		out = append(out, tool)
	}
	return out
}

// Tokens is a token count as spans carry it. Input includes what came from the
// cache.
type Tokens struct {
	Input, Output, CacheRead int64
}

// tokensOf reads the counts of a span; ok is false where it has none.
func tokensOf(s *sink.Span) (tk Tokens, ok bool) {
	in, okIn := s.Attrs.Int(string(otelmap.KeyInputTokens))
	out, okOut := s.Attrs.Int(string(otelmap.KeyOutputTokens))
	cache, _ := s.Attrs.Int(string(otelmap.KeyCacheReadTokens))
	return Tokens{in, out, cache}, okIn || okOut
}

// CompareModel compares the trace's chat spans and the sums on its root with
// the requests the model really answered for it. It returns what differs, one
// line each.
//
// lastOpen says that the host may end before it has written the usage of its
// last answer, as Cline's classic core does: then that one may have no counts,
// and the sums may lack it.
func (t *Trace) CompareModel(requests []mockllm.Request, lastOpen bool) (wrong []string) {
	var want []Tokens
	for _, r := range requests {
		if r.Usage != nil && r.Complete {
			want = append(want, Tokens{r.Usage.Prompt, r.Usage.Completion, r.Usage.Cached})
		}
	}
	chats := t.Operation(otelmap.OpChat)
	var got []Tokens
	for _, s := range chats {
		// A request that failed has no counts, or zeros where the host writes them.
		if tk, ok := tokensOf(s); ok && tk != (Tokens{}) {
			got = append(got, tk)
		}
	}
	if lastOpen && len(got) == len(want)-1 {
		want = want[:len(want)-1]
	}
	if !slices.Equal(want, got) {
		wrong = append(wrong, fmt.Sprintf("tokens of the chat spans: model answered %+v, spans say %+v", want, got))
	}
	if t.Root == nil {
		return append(wrong, "no root to compare sums on")
	}
	var sum Tokens
	for _, tk := range want {
		sum.Input, sum.Output, sum.CacheRead = sum.Input+tk.Input, sum.Output+tk.Output, sum.CacheRead+tk.CacheRead
	}
	if total, _ := tokensOf(t.Root); total != sum {
		wrong = append(wrong, fmt.Sprintf("sums on the root: want %+v, got %+v", sum, total))
	}
	return wrong
}
