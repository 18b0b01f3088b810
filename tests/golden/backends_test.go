package golden_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/testkit/recorded"
	"github.com/hookspan/hookspan/otelmap"
)

// spanRule is what a backend needs of the spans that it is about.
type spanRule struct {
	backend, what string
	about, holds  func(s *tracepb.Span) bool
}

func text(key string) func(*tracepb.Span) bool {
	return func(s *tracepb.Span) bool { return otlp.Text(s.Attributes, key) != "" }
}

func operation(names ...string) func(*tracepb.Span) bool {
	return func(s *tracepb.Span) bool {
		return slices.Contains(names, otlp.Text(s.Attributes, otelmap.KeyOperation))
	}
}

func both(rules ...func(*tracepb.Span) bool) func(*tracepb.Span) bool {
	return func(s *tracepb.Span) bool {
		return !slices.ContainsFunc(rules, func(f func(*tracepb.Span) bool) bool { return !f(s) })
	}
}

func either(rules ...func(*tracepb.Span) bool) func(*tracepb.Span) bool {
	return func(s *tracepb.Span) bool {
		return slices.ContainsFunc(rules, func(f func(*tracepb.Span) bool) bool { return f(s) })
	}
}

func not(f func(*tracepb.Span) bool) func(*tracepb.Span) bool {
	return func(s *tracepb.Span) bool { return !f(s) }
}

func number(key string) func(*tracepb.Span) bool {
	return func(s *tracepb.Span) bool { _, ok := otlp.Integer(s.Attributes, key); return ok }
}

func failed(s *tracepb.Span) bool { return s.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR }

func anySpan(*tracepb.Span) bool { return true }

var (
	isRoot   = text(otelmap.KeyHost)
	isChat   = operation(otelmap.OpChat)
	isTool   = operation(otelmap.OpExecuteTool)
	isAgent  = operation(otelmap.OpInvokeAgent)
	prompted = func(s *tracepb.Span) bool {
		return slices.ContainsFunc(s.Events, func(e *tracepb.Span_Event) bool {
			return e.Name == otelmap.EventPrompt && otlp.Text(e.Attributes, otelmap.KeyText) != ""
		})
	}
)

// messageLists reports that the lists of messages are as backends take them: JSON in one
// text, results each in a message, and a finish reason on every output.
func messageLists(s *tracepb.Span) bool {
	for _, key := range []string{otelmap.KeyInputMessages, otelmap.KeyOutputMessages} {
		value := otlp.Find(s.Attributes, key)
		if value == nil {
			continue
		}
		var list []struct {
			Role         string
			FinishReason *string `json:"finish_reason"`
			Parts        []struct{ Type string }
		}
		if json.Unmarshal([]byte(value.GetStringValue()), &list) != nil || len(list) == 0 {
			return false
		}
		for _, m := range list {
			if m.Role == "" || len(m.Parts) == 0 || (key == otelmap.KeyOutputMessages) != (m.FinishReason != nil) || m.Role == otelmap.RoleTool && len(m.Parts) > 1 {
				return false
			}
		}
	}
	return true
}

// rules are the backends' own, from their sources and documents.
var rules = []spanRule{
	// A script that calls tools is a plain span there.
	{"Langfuse", "kind of every span", not(operation(otelmap.OpInvokeWorkflow)), operation(otelmap.OpChat, otelmap.OpExecuteTool, otelmap.OpInvokeAgent)},
	{"Langfuse", "input of a prompted trace", both(isRoot, prompted), text("input.value")},
	{"Langfuse", "output of a trace with an answer", both(isRoot, text("gen_ai.output.messages")), text("output.value")},
	{"Langfuse", "texts of requests are messages", isChat, not(either(text("input.value"), text("output.value")))},
	{"Langfuse", "session", anySpan, text("gen_ai.conversation.id")},
	{"Langfuse", "user where hookspan has one", text("hookspan.user.id"), text("user.id")},
	{"Langfuse", "result of a call only where it succeeded", both(isTool, failed), not(text("gen_ai.tool.call.result"))},
	{"SigNoz", "a model is a request", text("gen_ai.request.model"), isChat},
	{"SigNoz", "a request has its model", isChat, text("gen_ai.request.model")},
	{"SigNoz", "tokens are on requests", isAgent, not(either(number("gen_ai.usage.input_tokens"), number("gen_ai.usage.output_tokens")))},
	{"SigNoz", "a call has a tool's name", isTool, text("gen_ai.tool.name")},
	{"Datadog", "messages are lists", anySpan, messageLists},
	{"Datadog", "a request that got an answer has input or output", both(isChat, not(failed), number("gen_ai.usage.output_tokens")), either(text("gen_ai.input.messages"), text("gen_ai.output.messages"))},
	{"Datadog", "a prompted run has an input", both(isRoot, prompted), text("gen_ai.input.messages")},
	{"Honeycomb", "agent of every span", anySpan, text("gen_ai.agent.name")},
	{"Honeycomb", "conversation of every span", anySpan, text("gen_ai.conversation.id")},
	{"Honeycomb", "a failed request says so", both(isChat, failed), func(s *tracepb.Span) bool {
		return strings.Contains(otlp.Find(s.Attributes, "gen_ai.response.finish_reasons").String(), "error")
	}},
	{"LangSmith", "kind of every span", anySpan, text("gen_ai.operation.name")},
	{"LangSmith", "messages are lists", anySpan, messageLists},
	{"LangSmith", "a prompted run has an input", both(isRoot, prompted), either(text("gen_ai.input.messages"), text("input.value"))},
}

// TestBackendsReadEverySpan holds the recorded sessions' spans against what backends read.
func TestBackendsReadEverySpan(t *testing.T) {
	runs := recorded.Spans(t)
	about := make([]int, len(rules))
	var ours, theirs int64
	for s := range otlp.Spans(runs) {
		for i, r := range rules {
			if !r.about(s) {
				continue
			}
			about[i]++
			if !r.holds(s) {
				t.Errorf("%s, %s: %s %x: %v", r.backend, r.what, s.Name, s.SpanId, s.Attributes)
			}
		}
		// SigNoz adds up the tokens of all spans.
		n := otlp.Find(s.Attributes, "gen_ai.usage.input_tokens").GetIntValue()
		theirs += n
		if isChat(s) {
			ours += n
		}
	}
	for i, r := range rules {
		if about[i] == 0 && r.what != "user where hookspan has one" {
			t.Errorf("%s, %s: no span is of this kind", r.backend, r.what)
		}
	}
	if ours == 0 || theirs != ours {
		t.Errorf("SigNoz counts %d input tokens, the requests have %d", theirs, ours)
	}
	t.Logf("%d runs, spans by rule: %v", len(runs), about)
}
