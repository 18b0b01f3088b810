package verify

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/testkit/golden"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
)

// compared is what the traces of a session made by hand and its files have.
type compared struct {
	traces []*store.Trace
	files  hook.Transcript
}

// span returns the first span with an attribute of a value.
func (c *compared) span(value string) *tracepb.Span {
	for _, tr := range c.traces {
		for s := range otlp.Spans(tr.ResourceSpans) {
			if slices.ContainsFunc(s.Attributes, func(a *commonpb.KeyValue) bool { return a.GetValue().GetStringValue() == value }) {
				return s
			}
		}
	}
	return nil
}

func (c *compared) drop(value string) {
	gone := c.span(value)
	for _, tr := range c.traces {
		scope := tr.ResourceSpans[0].ScopeSpans[0]
		scope.Spans = slices.DeleteFunc(scope.Spans, func(s *tracepb.Span) bool { return s == gone })
	}
}

func (c *compared) add(trace int, spans ...*tracepb.Span) {
	scope := c.traces[trace].ResourceSpans[0].ScopeSpans[0]
	scope.Spans = append(scope.Spans, spans...)
}

// fitting are two traces of a session, one a turn, and files that say the same. The first
// has a subagent that works on in the background.
func fitting() *compared {
	cost := func(u []*commonpb.KeyValue, usd float64) []*commonpb.KeyValue {
		return append(u, otlp.Float(otelmap.KeyCost, usd))
	}
	first := rootSpan(0, 30, otelmap.OutcomeCompleted, cost(usage(37, 7, 6, 2), 0.75), 0)
	set(first, otlp.String(otelmap.KeyPromptID, "t1"))
	set(first, otlp.Int(otelmap.KeyToolCalls, 4))
	first.Events = append(first.Events, &tracepb.Span_Event{Name: otelmap.EventUsage, TimeUnixNano: otlp.UnixNano(at(30)), Attributes: append(usage(7, 3, 0, 0), otlp.String(otelmap.KeyUsageSource, "deleted"))})
	agent := span(otelmap.OpInvokeAgent, 4, 40, otlp.String(otelmap.KeyAgent, "a1"))
	inner, nested := toolSpan(5, "c2", "Bash"), toolSpan(7, "", "Read")
	inner.ParentSpanId, nested.ParentSpanId = agent.SpanId, inner.SpanId
	fail(otelmap.ErrorToolFailure)(inner)
	second := rootSpan(50, 60, otelmap.OutcomeFailed, cost(usage(5, 1, 0, 0), 0.5), 50)
	set(second, otlp.String(otelmap.KeyPromptID, "t2"))
	set(second, otlp.Int(otelmap.KeyToolCalls, 1))
	hanging := toolSpan(57, "c5", "Write")
	fail(otelmap.ErrorToolUnfinished)(hanging)
	ref := chatSpan(3, "", "n", cost(usage(20, 3, 0, 2), 0.5))
	set(ref, otlp.String(otelmap.KeyRequestID, "req2"))
	broken := chatSpan(51, "", "m", cost(usage(5, 1, 0, 0), 0.5))
	fail("overloaded")(broken)
	done := func(id, agent, turn, name string, from float64) hook.ToolResult {
		return hook.ToolResult{ID: id, Agent: agent, Turn: turn, Name: name, Status: hook.ToolOK, Asked: at(from), At: at(from + 1)}
	}
	c := &compared{
		traces: []*store.Trace{
			{Summary: store.Summary{TraceID: "trace1", Started: at(0), Ended: at(40)}, ResourceSpans: []*tracepb.ResourceSpans{resource(
				first, chatSpan(1, "r1", "m", cost(usage(10, 1, 6, 0), 0.25)), ref, toolSpan(2, "c1", "Read"), agent, inner, nested, toolSpan(9, "", "Glob"),
			)}},
			{Summary: store.Summary{TraceID: "trace2", Started: at(50), Ended: at(60)}, ResourceSpans: []*tracepb.ResourceSpans{resource(second, broken, hanging)}},
		},
		files: hook.Transcript{
			ToolResults: []hook.ToolResult{
				done("c1", "", "t1", "Read", 2), done("c2", "a1", "t1", "Bash", 5), done("x3", "a1", "t1", "Read", 7), done("x4", "", "t1", "Glob", 9),
				{ID: "c5", Turn: "t2", Name: "Write", Asked: at(57)},
			},
			Calls: []hook.LLMCall{
				{Kind: hook.CallRequest, ID: "r1", Turn: "t1", Model: "m", Start: at(1), End: at(2), Usage: &hook.Usage{Input: 4, Output: 1, CacheRead: 6, CostUSD: new(0.25)}},
				{Kind: hook.CallRequest, ID: "msg2", RequestID: "req2", Turn: "t1", Model: "n", Start: at(3), End: at(4), Usage: &hook.Usage{Input: 20, Output: 3, CacheWrite: 2, InputIncludesCache: true, CostUSD: new(0.5)}},
				{Kind: hook.CallDeleted, Turn: "t1", Start: at(30), Usage: &hook.Usage{Input: 7, Output: 3}},
				{Kind: hook.CallRequest, ID: "msg3", Turn: "t2", Model: "m", Start: at(51), Error: "overloaded", End: at(52), Usage: &hook.Usage{Input: 5, Output: 1, CostUSD: new(0.5)}},
			},
			Prompts: []hook.Prompt{{At: at(0), Turn: "t1"}, {At: at(50), Turn: "t2"}},
			Ends:    []hook.TurnEnd{{Turn: "t1", At: at(29), Kind: hook.KindRunComplete}, {Turn: "t2", At: at(60), Kind: hook.KindRunError}},
		},
	}
	c.files.ToolResults[1].Status = hook.ToolFailed
	return c
}

// bare takes all ids from the files and the traces, so that times alone pair them.
func bare(c *compared) {
	for i := range c.files.ToolResults {
		c.files.ToolResults[i].ID, c.files.ToolResults[i].Turn = "", ""
	}
	for i := range c.files.Calls {
		c.files.Calls[i].ID, c.files.Calls[i].RequestID, c.files.Calls[i].Turn = "", "", ""
	}
	for i := range c.files.Ends {
		c.files.Ends[i].Turn = ""
	}
	for _, tr := range c.traces {
		for s := range otlp.Spans(tr.ResourceSpans) {
			for _, key := range []string{otelmap.KeyToolCallID, otelmap.KeyResponseID, otelmap.KeyRequestID, otelmap.KeyPromptID} {
				drop(s, key)
			}
		}
	}
}

// result makes what the files of a turn have of one more call.
func (c *compared) result(id, agent, turn string, from, to float64) {
	c.files.ToolResults = append(c.files.ToolResults, hook.ToolResult{ID: id, Agent: agent, Turn: turn, Name: "Grep", Status: hook.ToolOK, Asked: at(from), At: at(to)})
}

var unfitting = []struct {
	name   string
	change func(*compared)
}{
	{"nothing", func(*compared) {}},
	{"nothing has an id", bare},
	{"a call is missing", func(c *compared) { c.drop("c1") }},
	{"a call without an id is missing", func(c *compared) { c.drop("Glob") }},
	{"a call too many without an id", func(c *compared) { c.add(1, toolSpan(58, "", "Read"), toolSpan(59, "", "Grep")) }},
	{"it is within the slack", func(c *compared) { c.files.ToolResults[3].At = at(10 + 600) }},
	{"it is beyond the slack", func(c *compared) { c.files.ToolResults[3].At = at(10 + 600.001) }},
	{"the nearest of two", func(c *compared) {
		bare(c)
		c.files.ToolResults[2].Status = hook.ToolFailed
		c.files.ToolResults[2].At = at(3.4)
	}},
	{"calls with one id of two agents", func(c *compared) {
		c.result("c1", "a1", "t1", 2, 3)
		other := toolSpan(2.5, "c1", "Grep")
		other.ParentSpanId = []byte("00004000")
		c.add(0, other)
	}},
	{"so, each nearer to the other's", func(c *compared) {
		c.files.ToolResults[0].At = at(3.5)
		c.result("c1", "a1", "t1", 2, 3)
		c.files.ToolResults[5].Name = "Read"
		other := toolSpan(2.5, "c1", "Read")
		other.ParentSpanId = []byte("00004000")
		c.add(0, other)
	}},
	{"requests with one id of two agents, each nearer to the other's", func(c *compared) {
		c.files.Calls[0].End = at(2.5)
		c.files.Calls = append(c.files.Calls, hook.LLMCall{Kind: hook.CallRequest, ID: "r1", Agent: "a1", Turn: "t1", Model: "m", Start: at(1), End: at(2), Usage: &hook.Usage{}})
		other := chatSpan(1.5, "r1", "m", nil)
		other.ParentSpanId = []byte("00004000")
		c.add(0, other)
	}},
	{"many calls without an id, in another order", func(c *compared) {
		set(c.span("t1"), otlp.Int(otelmap.KeyToolCalls, 34))
		for i := range 30 {
			c.add(0, toolSpan(10+float64(i)/2, "", "Grep"))
			c.result("z", "", "t1", 25-float64(i)/2, 25.5-float64(i)/2)
			c.files.ToolResults[5+i].ID = ""
		}
	}},
	{"a call of another agent", func(c *compared) { c.files.ToolResults[1].Agent = "a2" }},
	{"a call of the lead agent", func(c *compared) { c.files.ToolResults[1].Agent = "" }},
	{"another tool", func(c *compared) { c.files.ToolResults[0].Name = "Grep" }},
	{"a tool without a name", func(c *compared) { c.files.ToolResults[0].Name = "" }},
	{"a failure", func(c *compared) { c.files.ToolResults[0].Status = hook.ToolFailed }},
	{"a denial", func(c *compared) { c.files.ToolResults[0].Status = hook.ToolDenied }},
	{"a cancellation", func(c *compared) { c.files.ToolResults[0].Status = hook.ToolCancelled }},
	{"no status", func(c *compared) { c.files.ToolResults[0].Status = hook.ToolUnknown }},
	{"a call without an end in the files", func(c *compared) { c.files.ToolResults[0].At = time.Time{} }},
	{"a denial without an end in the files", func(c *compared) { fail(otelmap.ErrorToolDenied)(c.span("c5")) }},
	{"a denial that the files end", func(c *compared) { fail(otelmap.ErrorToolDenied)(c.span("c1")) }},
	{"a script's call that was denied", func(c *compared) {
		c.add(0, toolSpan(8, "exec-1", "Read"))
		fail(otelmap.ErrorToolDenied)(c.span("exec-1"))
	}},
	{"a script's call without an end", func(c *compared) {
		c.add(0, toolSpan(8, "exec-1", "Read"))
		fail(otelmap.ErrorToolUnfinished)(c.span("exec-1"))
	}},
	{"a script's call that ran", func(c *compared) { c.add(0, toolSpan(8, "exec-1", "Read")) }},
	{"another call that was denied", func(c *compared) { c.add(0, toolSpan(8, "y1", "Read")); fail(otelmap.ErrorToolDenied)(c.span("y1")) }},
	{"a call twice", func(c *compared) { c.add(0, toolSpan(2, "c1", "Read")) }},
	{"a request is missing", func(c *compared) { c.drop("r1") }},
	{"a request is missing whose answer has no id", func(c *compared) { c.drop("req2") }},
	{"a request too many", func(c *compared) { c.add(0, chatSpan(8, "r9", "m", usage(1, 1, 1, 1))) }},
	{"a request twice", func(c *compared) { c.add(0, chatSpan(1, "r1", "m", usage(10, 1, 6, 0))) }},
	{"a request of another agent", func(c *compared) { c.files.Calls[0].Agent = "a1" }},
	{"a request to another model", func(c *compared) { c.files.Calls[0].Model = "o" }},
	{"a request to a model without a name", func(c *compared) { c.files.Calls[0].Model = "" }},
	{"a request that failed", func(c *compared) { c.files.Calls[1].Error = "overloaded" }},
	{"a request without an end", func(c *compared) { c.files.Calls[0].End = time.Time{} }},
	{"a request without tokens", func(c *compared) { c.files.Calls[0].Usage = nil }},
	{"a request without a price", func(c *compared) { c.files.Calls[0].Usage.CostUSD = nil }},
	{"a request at another price", func(c *compared) { c.files.Calls[0].Usage.CostUSD = new(0.250001) }},
	{"a request at nearly the price", func(c *compared) { c.files.Calls[0].Usage.CostUSD = new(0.25 + 1e-10) }},
	{"tokens of a request", func(c *compared) {
		*c.files.Calls[1].Usage = hook.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, CostUSD: new(0.5)}
	}},
	{"failed requests pair with such", func(c *compared) {
		bare(c)
		c.files.Calls = append(c.files.Calls, hook.LLMCall{Kind: hook.CallRequest, Model: "m", Start: at(51.5), End: at(52), Usage: &hook.Usage{}})
	}},
	{"a request nearly a second away", func(c *compared) { c.files.Calls[3].End = at(53) }},
	{"a request more than a second away", func(c *compared) { c.files.Calls[3].End = at(53.001) }},
	{"the sum of subagents", func(c *compared) { c.files.Calls[2].Kind = hook.CallSubagents }},
	{"the sum of a session", func(c *compared) { c.files.Calls[2].Kind = hook.CallUnlisted }},
	{"another sum", func(c *compared) { c.files.Calls[2].Usage.Input = 8 }},
	{"no sum", func(c *compared) { c.files.Calls[2].Usage = nil }},
	{"no sum in the files", func(c *compared) { c.files.Calls = slices.Delete(c.files.Calls, 2, 3) }},
	{"no sum in the trace", func(c *compared) { c.traces[0].ResourceSpans[0].ScopeSpans[0].Spans[0].Events = nil }},
	{"another total of tokens", func(c *compared) {
		add(otelmap.KeyCacheReadTokens, 1)(c.span("t1"))
		add(otelmap.KeyCacheWriteTokens, 1)(c.span("t1"))
	}},
	{"no total of calls", func(c *compared) { drop(c.span("t1"), otelmap.KeyToolCalls) }},
	{"another total of calls", func(c *compared) { add(otelmap.KeyToolCalls, 2)(c.span("t1")) }},
	{"no root", func(c *compared) { c.drop("t1") }},
	{"two runs in a trace", func(c *compared) {
		c.add(0, c.span("t2"))
		set(c.span("t1"), otlp.Int(otelmap.KeyToolCalls, 2))
	}},
	{"a call before the request that it followed", func(c *compared) { shift(-3001 * time.Millisecond)(c.span("c2")) }},
	{"it touches that", func(c *compared) { shift(-3 * time.Second)(c.span("c2")) }},
	{"a call before a request that it touches in the files", func(c *compared) { c.files.ToolResults[1].Asked = at(2); shift(-6 * time.Second)(c.span("c2")) }},
	{"a call before one that it hardly followed", func(c *compared) { c.files.ToolResults[1].Asked = at(2.1); shift(-6 * time.Second)(c.span("c2")) }},
	{"a call without an end before a request", func(c *compared) { shift(-8 * time.Second)(c.span("c5")) }},
	{"a call that the files do not say the beginning of", func(c *compared) { c.files.ToolResults[1].Asked = time.Time{}; shift(30 * time.Second)(c.span("c2")) }},
	{"a request before a call that it followed", func(c *compared) { c.files.Calls[1].Start, c.files.Calls[1].End = at(20), at(21) }},
	{"a call of the next turn's beginning", func(c *compared) { c.result("y1", "", "", 44, 45) }},
	{"a call of ten seconds before the first turn", func(c *compared) { c.result("y1", "", "t1", -11, -10) }},
	{"a call of more than ten seconds before it", func(c *compared) { c.result("y1", "", "t1", -11, -10.001) }},
	{"a call between the turns", func(c *compared) { c.result("y1", "", "", 48, 49) }},
	{"a call at the end of the first turn", func(c *compared) { c.result("y1", "", "", 39, 40) }},
	{"a call of the turn, behind its end", func(c *compared) { c.result("y1", "", "t1", 40, 41) }},
	{"a call of a subagent, behind the end", func(c *compared) { c.result("y1", "a1", "t1", 40, 41) }},
	{"a call of an unknown subagent, behind the end", func(c *compared) { c.result("y1", "a9", "t1", 40, 41) }},
	{"a call of another turn", func(c *compared) { c.result("y1", "", "t9", 10, 11) }},
	{"a call of a turn, where traces name none", func(c *compared) { c.result("y1", "", "t9", 10, 11); drop(c.span("t1"), otelmap.KeyPromptID) }},
	{"a call of both traces", func(c *compared) { c.traces[0].Ended = at(70); c.result("y1", "", "", 52, 53) }},
	{"a call before the later of both", func(c *compared) { c.traces[0].Ended = at(70); c.result("y1", "", "", 48, 49) }},
	{"a call of a turn in two traces", func(c *compared) {
		set(c.span("t2"), otlp.String(otelmap.KeyPromptID, "t1"))
		c.result("y1", "", "t1", 48, 49)
	}},
	{"a turn that failed", func(c *compared) { c.files.Ends[0].Kind = hook.KindRunError }},
	{"a turn that did not fail", func(c *compared) { c.files.Ends[1].Kind = hook.KindRunComplete }},
	{"a turn that failed, then went on", func(c *compared) {
		c.files.Ends = []hook.TurnEnd{{Turn: "t1", At: at(20), Kind: hook.KindRunError}, {Turn: "t1", At: at(29), Kind: hook.KindRunComplete}}
	}},
	{"a turn that a hook went on with", func(c *compared) { c.files.Ends[0].Kind = hook.KindRunResume }},
	{"a turn that was interrupted", func(c *compared) { c.files.Ends[0].Kind = hook.KindSessionEnd }},
	{"a turn of which the trace says that it was", func(c *compared) {
		set(c.span("t2"), otlp.String(otelmap.KeyOutcome, otelmap.OutcomeInterrupted))
		c.files.Ends[1].Kind = hook.KindRunComplete
	}},
	{"a turn whose end is a later trace's", func(c *compared) {
		set(c.span("t2"), otlp.String(otelmap.KeyPromptID, "t1"))
		c.files.Ends[0].Kind = hook.KindRunError
	}},
	{"an end without a turn", func(c *compared) { bare(c); c.files.Ends[0].Kind = hook.KindRunError }},
	{"an end before the prompt", func(c *compared) { bare(c); c.files.Ends[0].Kind, c.files.Ends[0].At = hook.KindRunError, at(-1) }},
	{"an end at the prompt", func(c *compared) { bare(c); c.files.Ends[0].Kind, c.files.Ends[0].At = hook.KindRunError, at(0) }},
	{"an end at the next prompt", func(c *compared) { bare(c); c.files.Ends[0].Kind, c.files.Ends[0].At = hook.KindRunError, at(50) }},
	{"an end behind the next prompt", func(c *compared) { bare(c); c.files.Ends[1].Kind = hook.KindRunComplete }},
	{"an end behind what the agent wrote itself", func(c *compared) {
		bare(c)
		c.files.Ends[0].Kind = hook.KindRunError
		c.files.Prompts = slices.Insert(c.files.Prompts, 1, hook.Prompt{At: at(29.5), Injected: true}, hook.Prompt{At: at(45), Injected: true})
	}},
	{"an end without prompts", func(c *compared) { bare(c); c.files.Prompts = nil; c.files.Ends[0].Kind = hook.KindRunError }},
	{"a turn in the files alone", func(c *compared) { drop(c.span("t1"), otelmap.KeyPromptID); c.files.Ends[0].Kind = hook.KindRunError }},
	{"a turn in the trace alone", func(c *compared) { c.files.Ends[0].Turn, c.files.Ends[0].Kind = "", hook.KindRunError }},
}

// TestDifferencesOfAComparison has traces and files that agree in all but one thing.
func TestDifferencesOfAComparison(t *testing.T) {
	var out strings.Builder
	for _, u := range unfitting {
		c := fitting()
		u.change(c)
		var all Comparison
		for _, tr := range c.traces {
			all.Add(tr)
		}
		fmt.Fprintln(&out, u.name)
		for _, r := range all.Results(&c.files) {
			fmt.Fprintf(&out, "  %s: %d calls, %d requests, %d not compared\n", r.Trace, r.Calls, r.Requests, r.NotCompared)
			for _, d := range r.Differences {
				b, err := json.Marshal(d)
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&out, "    %s\n      %s\n", d, b)
			}
		}
	}
	golden.Check(t, "compared.txt", out.String())
}
