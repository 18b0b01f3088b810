package scenario

import (
	"fmt"
	"slices"
	"strings"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/otelmap/step"
	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/sink"
)

// Tool is what must have come of one tool call, beyond what the model's log
// says of it.
type Tool struct {
	// Name is the call's for an agent that tells no ids of calls.
	Name string
	// Error is error.type; empty for a tool that worked.
	Error string
	// Text is a part of the call's result or error.
	Text string
	// Under is the index, among the trace's calls, of the call whose subagent
	// made this one; negative for the lead agent.
	Under int
}

// trace is a received trace with its spans at hand.
type trace struct {
	*rig.Trace

	byID map[string]*sink.Span
}

// CompareModel compares a trace with the requests that the model answered for
// it and with what must have come of their tool calls, in the order of the log.
// It returns what differs, one line each.
func CompareModel(t *rig.Trace, requests []llm.Request, want []Tool) (wrong []string) {
	tr := &trace{Trace: t, byID: make(map[string]*sink.Span, len(t.Spans))}
	for _, s := range t.Spans {
		tr.byID[s.SpanID] = s
	}
	wrong = append(wrong, tr.tools(requests, want)...)
	return append(wrong, tr.chats(requests)...)
}

// calls are the calls of the requests, in order.
func calls(requests []llm.Request) []llm.Call {
	var out []llm.Call
	for _, r := range requests {
		out = append(out, r.Calls...)
	}
	return out
}

func (t *trace) tools(requests []llm.Request, want []Tool) (wrong []string) {
	spans := make(map[string]*sink.Span)
	for _, s := range t.Operation(otelmap.OpExecuteTool) {
		id := s.Attrs.String(otelmap.KeyToolCallID)
		if spans[id] != nil {
			wrong = append(wrong, fmt.Sprintf("call %q has two spans", id))
		}
		spans[id] = s
	}
	asked := calls(requests)
	if len(asked) != len(want) || len(spans) != len(want) {
		wrong = append(wrong, fmt.Sprintf("the model asked for %d tools, %d have a span, want %d", len(asked), len(spans), len(want)))
	}
	for i, c := range asked[:min(len(asked), len(want))] {
		s := spans[c.ID]
		if s == nil {
			wrong = append(wrong, fmt.Sprintf("call %s of %s has no span", c.ID, c.Name))
			continue
		}
		under := ""
		if k := want[i].Under; k >= 0 {
			under = asked[k].ID
		}
		for _, w := range t.tool(s, c, want[i], under) {
			wrong = append(wrong, fmt.Sprintf("call %s of %s: %s", c.ID, c.Name, w))
		}
	}
	return append(wrong, order(requests, spans)...)
}

// tool compares one call's span. under is the id of the call whose subagent made
// it.
func (t *trace) tool(s *sink.Span, c llm.Call, want Tool, under string) (wrong []string) {
	differ := func(what, got, want string) {
		if got != want {
			wrong = append(wrong, fmt.Sprintf("%s %q, want %q", what, got, want))
		}
	}
	differ("name", s.Attrs.String(otelmap.KeyToolName), c.Name)
	differ("error.type", s.Attrs.String(otelmap.KeyErrorType), want.Error)
	status := "Unset"
	if want.Error != "" {
		status = "Error"
	}
	differ("status", s.Status, status)
	differ("call of the subagent it is under", t.callAbove(s), under)
	if r := c.Result; r != nil && r.Failed != nil && *r.Failed != (want.Error != "") {
		wrong = append(wrong, fmt.Sprintf("the agent told the model is_error %v, want %v", *r.Failed, want.Error != ""))
	}
	if r := c.Result; r != nil && !strings.Contains(r.Text, want.Text) {
		wrong = append(wrong, fmt.Sprintf("the agent told the model %q, want %q in it", r.Text, want.Text))
	}
	said := s.StatusMessage + "\n" + s.Attrs.String(otelmap.KeyToolResult)
	for _, e := range s.Events {
		said += "\n" + e.Attrs.String(otelmap.KeyExceptionMessage)
	}
	if !strings.Contains(said, want.Text) {
		wrong = append(wrong, fmt.Sprintf("result and error say %q, want %q in it", said, want.Text))
	}
	args := s.Attrs.String(otelmap.KeyToolArguments)
	for k, v := range c.Args {
		if text, ok := v.(string); ok && (!strings.Contains(args, k) || !strings.Contains(args, strings.Trim(text, "./"))) && !strings.ContainsAny(text, "\"\\<>&") {
			wrong = append(wrong, fmt.Sprintf("arguments %q lack %s %q", args, k, text))
		}
	}
	return wrong
}

// callAbove is the id of the tool call whose subagent the span belongs to, empty
// for the lead agent.
func (t *trace) callAbove(s *sink.Span) string {
	for p := t.byID[s.ParentID]; p != nil; p = t.byID[p.ParentID] {
		id := p.Attrs.String(otelmap.KeyToolCallID)
		if id != "" && p.Attrs.String(otelmap.KeyOperation) != otelmap.OpInvokeWorkflow { // a script is of the same agent
			return id
		}
	}
	return ""
}

// order wants the tools of one answer to start after those of the answers
// before it, as far as they are of one part of the script.
func order(requests []llm.Request, spans map[string]*sink.Span) (wrong []string) {
	last := make(map[string]*sink.Span)
	for _, r := range requests {
		newest := last[r.Part]
		for _, c := range r.Calls {
			s := spans[c.ID]
			if s == nil {
				continue
			}
			if old := last[r.Part]; old != nil && s.Start.Before(old.Start) {
				wrong = append(wrong, fmt.Sprintf("call %s starts before a call of an earlier answer", c.ID))
			}
			if newest == nil || newest.Start.Before(s.Start) {
				newest = s
			}
		}
		last[r.Part] = newest
	}
	return wrong
}

// finishReasons are the semantic conventions' words for the model's.
var finishReasons = map[string]string{"end_turn": "stop", "tool_use": "tool_call"}

// chats compares the chat spans, found by the message's id, and the sums on the
// root.
func (t *trace) chats(requests []llm.Request) (wrong []string) {
	spans, called := make(map[string]*sink.Span), make(map[string]*sink.Span)
	for _, s := range t.Operation(otelmap.OpExecuteTool) {
		called[s.Attrs.String(otelmap.KeyToolCallID)] = s
	}
	for _, s := range t.Operation(otelmap.OpChat) {
		id := s.Attrs.String(otelmap.KeyResponseID)
		if _, counted := rig.TokensOf(s); counted && spans[id] != nil {
			wrong = append(wrong, fmt.Sprintf("message %q has two spans", id))
		}
		spans[id] = s
	}
	var all []rig.Tokens
	for _, r := range requests {
		if r.Usage == nil || !r.Complete {
			continue
		}
		u := r.Usage
		want := rig.Tokens{Input: u.Input + u.CacheRead + u.CacheWrite, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite}
		all = append(all, want)
		s := spans[r.ID]
		if s == nil {
			wrong = append(wrong, fmt.Sprintf("message %s has no span", r.ID))
			continue
		}
		delete(spans, r.ID)
		if got, _ := rig.TokensOf(s); got != want {
			wrong = append(wrong, fmt.Sprintf("message %s: tokens %+v, want %+v", r.ID, got, want))
		}
		if got := s.Attrs.String(otelmap.KeyRequestID); got != r.RequestID {
			wrong = append(wrong, fmt.Sprintf("message %s: request id %q, want %q", r.ID, got, r.RequestID))
		}
		if got := step.Of(&tracepb.Span{Attributes: []*commonpb.KeyValue{otlp.String(otelmap.KeyOutputMessages, s.Attrs.String(otelmap.KeyOutputMessages))}}).Answer(); got != r.Text && r.Text != "" {
			wrong = append(wrong, fmt.Sprintf("message %s: text %q, want %q", r.ID, got, r.Text))
		}
		if got, _ := s.Attrs[otelmap.KeyFinishReasons].([]any); r.Finish != "" && !slices.Equal(got, []any{finishReasons[r.Finish]}) {
			wrong = append(wrong, fmt.Sprintf("message %s: finish reasons %v, want %s", r.ID, got, finishReasons[r.Finish]))
		}
		for _, c := range r.Calls {
			if tool := called[c.ID]; tool != nil && s.Start.After(tool.Start) {
				wrong = append(wrong, fmt.Sprintf("message %s begins %s after its call %s", r.ID, s.Start.Sub(tool.Start), c.ID))
			}
		}
		if got, want := t.callAbove(s) != "", r.Part == llm.PartSub; got != want {
			wrong = append(wrong, fmt.Sprintf("message %s is under a subagent: %v, want %v", r.ID, got, want))
		}
	}
	for id, s := range spans {
		if tk, counted := rig.TokensOf(s); counted && tk != (rig.Tokens{}) {
			wrong = append(wrong, fmt.Sprintf("message %q with %+v is not one the model answered in full", id, tk))
		}
	}
	return append(wrong, t.CompareSum(all)...)
}
