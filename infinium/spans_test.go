package infinium

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
)

// start is when the runs of these tests begin.
var start = time.Date(2026, 4, 18, 10, 0, 0, 0, time.UTC)

func at(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }

func traceID(n uint64) (id trace.TraceID) {
	binary.BigEndian.PutUint64(id[8:], n)
	return id
}

func spanID(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// testForms are two forms as package connectors has them.
var testForms = Forms{
	"": {Framework: "cline", Title: "Cline task", VersionTag: "cline_version", MaxName: 30},
	"claude-code": {
		Framework: "Claude Code", Title: "Claude Code session", Turns: true, ErrorType: "ToolFailure",
		VersionTag: "claude_code_version", InputPreview: 500, OutputPreview: 500,
	},
}

func ns(ms int) uint64 { return otlp.UnixNano(at(ms)) }

func str(k string, v string) *commonpb.KeyValue { return otlp.String(k, v) }

func num(k string, v int64) *commonpb.KeyValue { return otlp.Int(k, v) }

func dec(k string, v float64) *commonpb.KeyValue { return otlp.Float(k, v) }

// tree builds the spans of one trace; spans are named by their number.
type tree struct {
	id    trace.TraceID
	spans []*tracepb.Span
}

func (t *tree) add(id, parent uint64, name string, from, to int, attrs ...*commonpb.KeyValue) *tracepb.Span {
	s := &tracepb.Span{
		Name: name, StartTimeUnixNano: ns(from), EndTimeUnixNano: ns(to), Attributes: attrs,
		TraceId: bytes.Clone(t.id[:]), SpanId: spanID(id),
	}
	if parent != 0 {
		s.ParentSpanId = spanID(parent)
	}
	t.spans = append(t.spans, s)
	return s
}

// message is spans of one resource and scope.
func message(spans []*tracepb.Span) *tracepb.ResourceSpans {
	return &tracepb.ResourceSpans{
		Resource: &resourcepb.Resource{Attributes: []*commonpb.KeyValue{
			str(otelmap.KeyServiceName, "cline"), str(otelmap.KeyServiceVersion, "3.89.2"),
		}},
		ScopeSpans: []*tracepb.ScopeSpans{{Spans: spans}},
	}
}

func messages(spans ...*tracepb.Span) []*tracepb.ResourceSpans {
	return []*tracepb.ResourceSpans{message(spans)}
}

func (t *tree) messages() []*tracepb.ResourceSpans { return messages(t.spans...) }

func (t *tree) root(host string, to int, attrs ...*commonpb.KeyValue) *tracepb.Span {
	return t.add(1, 0, "invoke_agent "+host, 0, to, append([]*commonpb.KeyValue{
		str(otelmap.KeyOperation, otelmap.OpInvokeAgent), str(otelmap.KeyAgentName, host), str(otelmap.KeyHost, host),
	}, attrs...)...)
}

func (t *tree) tool(id, parent uint64, name string, from, to int, in, out string) *tracepb.Span {
	return t.add(id, parent, "execute_tool "+name, from, to,
		str(otelmap.KeyOperation, otelmap.OpExecuteTool), str(otelmap.KeyToolName, name),
		str(otelmap.KeyToolArguments, in), str(otelmap.KeyToolResult, out))
}

func (t *tree) agent(id, parent uint64, kind string, from, to int, attrs ...*commonpb.KeyValue) *tracepb.Span {
	return t.add(id, parent, "invoke_agent "+kind, from, to, append([]*commonpb.KeyValue{
		str(otelmap.KeyOperation, otelmap.OpInvokeAgent), str(otelmap.KeyAgentName, kind),
		str(otelmap.KeyAgent, fmt.Sprintf("agent-%d", id)),
	}, attrs...)...)
}

func (t *tree) chat(id, parent uint64, model string, from, to int, attrs ...*commonpb.KeyValue) *tracepb.Span {
	return t.add(id, parent, "chat "+model, from, to, append([]*commonpb.KeyValue{
		str(otelmap.KeyOperation, otelmap.OpChat), str(otelmap.KeyRequestModel, model),
	}, attrs...)...)
}

func fail(s *tracepb.Span, kind, message string) {
	s.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: message}
	s.Attributes = append(s.Attributes, str(otelmap.KeyErrorType, kind))
	s.Events = append(s.Events, &tracepb.Span_Event{Name: otelmap.EventException, TimeUnixNano: s.EndTimeUnixNano, Attributes: []*commonpb.KeyValue{
		str(otelmap.KeyExceptionType, kind), str(otelmap.KeyExceptionMessage, message),
	}})
}

func prompt(s *tracepb.Span, ms int, text string, attrs ...*commonpb.KeyValue) {
	s.Events = append(s.Events, &tracepb.Span_Event{
		Name: otelmap.EventPrompt, TimeUnixNano: ns(ms),
		Attributes: append([]*commonpb.KeyValue{str(otelmap.KeyText, text)}, attrs...),
	})
}

// clineRun is a complete run of Cline, with everything that its form can show.
func clineRun() *tree {
	t := &tree{id: traceID(0xc11e)}
	r := t.root("cline", 15_200,
		str(otelmap.KeyConversationID, "cline-t-abc123"),
		str(otelmap.KeyOutcome, otelmap.OutcomeCompleted),
		str(otelmap.KeyHostVersion, "3.36"),
		str(otelmap.KeyProvider, "anthropic"),
		str(otelmap.KeyHostProvider, "anthropic"),
		str(otelmap.KeyRequestModel, "claude-sonnet-4"),
		str(otelmap.KeyWorkingDirectory, "/home/user/project"),
		str(otelmap.KeyInputMessages, otelmap.TextMessages(otelmap.RoleUser, "Fix the login validation bug")),
		str(otelmap.KeyOutputMessages, otelmap.AnswerMessages("Fixed and tests pass", "")),
		num(otelmap.KeyLLMRequests, 3),
		num(otelmap.KeyInputTokens, 21_200),
		num(otelmap.KeyHostInputTokens, 12_000),
		num(otelmap.KeyOutputTokens, 900),
		num(otelmap.KeyCacheReadTokens, 8_000),
		num(otelmap.KeyCacheWriteTokens, 1_200),
		dec(otelmap.KeyCost, 0.0304+0.0304+0.0304),
	)
	prompt(r, 5, "Verify with: npm test")
	r.Events = append(r.Events,
		&tracepb.Span_Event{Name: otelmap.EventNotification, TimeUnixNano: ns(50), Attributes: []*commonpb.KeyValue{str(otelmap.KeyText, "approve?")}},
		&tracepb.Span_Event{Name: otelmap.EventCompaction, TimeUnixNano: ns(60)})
	prompt(r, 14_000, "<task-notification>done</task-notification>", otlp.Bool(otelmap.KeyPromptInjected, true))
	t.chat(2, 1, "claude-sonnet-4", 10, 900, num(otelmap.KeyHostInputTokens, 4_000))
	s := t.tool(3, 1, "execute_command", 1_000, 4_300, `{"command":"npm test"}`, "All 42 tests passed")
	s.Attributes = append(s.Attributes, num(otelmap.KeyHostDuration, 3_200))
	fail(t.tool(4, 1, "replace_in_file", 5_000, 5_012, `{"path":"src/auth.ts"}`, "The file was not found"),
		otelmap.ErrorTool, "The file was not found")
	t.tool(5, 1, "spawn_agent", 6_000, 9_000, `{"task":"look"}`, "looked")
	t.agent(6, 5, "researcher", 6_000, 8_900, str(otelmap.KeyOutputMessages, otelmap.AnswerMessages("it is in auth.ts", "")))
	t.tool(7, 6, "read_file", 7_000, 7_020, `{"path":"src/a<b>.ts"}`, "export …")
	fail(t.tool(8, 1, "write_to_file", 10_000, 15_200, `{"path":"x"}`, ""), otelmap.ErrorToolUnfinished, "the tool never reported an end")
	broken := t.chat(9, 1, "claude-sonnet-4", 11_000, 12_000, str(otelmap.KeyFinish, "streaming_failed"))
	fail(broken, "streaming_failed", "")
	return t
}

// claudeRun is a complete turn of Claude Code that an error of the API ended.
func claudeRun() *tree {
	t := &tree{id: traceID(0xc1a0de)}
	r := t.root("claude-code", 45_200,
		str(otelmap.KeyConversationID, "3f0c-session"),
		str(otelmap.KeyOutcome, otelmap.OutcomeFailed),
		str(otelmap.KeyHostVersion, "2.1.329"),
		str(otelmap.KeyProvider, "anthropic"),
		str(otelmap.KeyRequestModel, "claude-sonnet-4-5-20250514"),
		str(otelmap.KeyWorkingDirectory, "/home/user/project"),
		str(otelmap.KeyPermissionMode, "acceptEdits"),
		str(otelmap.KeyInputMessages, otelmap.TextMessages(otelmap.RoleUser, "Fix the login bug in auth.py")),
	)
	fail(r, "rate_limit", "API Error: 429")
	prompt(r, 0, "Fix the login bug in auth.py")
	t.tool(2, 1, "Read", 1_000, 1_030, `{"file_path":"auth.py"}`, "def login(): ...")
	fail(t.tool(3, 1, "Bash", 2_000, 2_500, `{"command":"pytest"}`, ""), otelmap.ErrorToolFailure, "exit status 1")
	t.tool(4, 1, "Agent", 3_000, 3_400, `{"subagent_type":"Explore"}`, "")
	t.agent(5, 4, "Explore", 3_100, 9_000, str(otelmap.KeyOutputMessages, otelmap.AnswerMessages("found two callers", "")))
	t.tool(6, 5, "Grep", 3_200, 3_300, `{"pattern":"login("}`, "2 matches")
	t.chat(7, 1, "claude-sonnet-4-5-20250514", 100, 900, num(otelmap.KeyInputTokens, 1_500),
		num(otelmap.KeyHostInputTokens, 20), num(otelmap.KeyOutputTokens, 40), num(otelmap.KeyCacheReadTokens, 1_480),
		num(otelmap.KeyCacheWriteTokens, 0), dec(otelmap.KeyCost, 0.01))
	t.chat(8, 1, "claude-sonnet-4-5-20250514", 1_100, 1_900, num(otelmap.KeyInputTokens, 1_600),
		num(otelmap.KeyHostInputTokens, 22), num(otelmap.KeyOutputTokens, 45), dec(otelmap.KeyCost, 0.02))
	return t
}

// smallRun is a run in a separate trace, identified by n.
func smallRun(n uint64) *tree {
	t := &tree{id: traceID(n)}
	r := t.root("cline", 1_000, str(otelmap.KeyInputMessages, otelmap.TextMessages(otelmap.RoleUser, fmt.Sprintf("task %d", n))), str(otelmap.KeyOutcome, otelmap.OutcomeCompleted))
	prompt(r, 0, fmt.Sprintf("task %d", n))
	t.tool(2, 1, "read_file", 100, 200, `{"path":"a"}`, "b")
	return t
}

func runs(ns ...uint64) []*tracepb.ResourceSpans {
	var out []*tracepb.ResourceSpans
	for _, n := range ns {
		out = append(out, smallRun(n).messages()...)
	}
	return out
}

// remoteParent are the flags of a span whose parent is known to be remote.
const remoteParent = uint32(tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK | tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK)

func without(attrs []*commonpb.KeyValue, keys ...string) []*commonpb.KeyValue {
	return slices.DeleteFunc(slices.Clone(attrs), func(kv *commonpb.KeyValue) bool { return slices.Contains(keys, kv.GetKey()) })
}

func failed(s *tracepb.Span) bool { return s.Status.GetCode() == tracepb.Status_STATUS_CODE_ERROR }
