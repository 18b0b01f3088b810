package infinium

import (
	"encoding/binary"
	"flag"
	"fmt"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/hookspan/hookspan/otelmap"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// start is when the runs of these tests begin.
var start = time.Date(2026, 4, 18, 10, 0, 0, 0, time.UTC)

func at(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }

func traceID(n uint64) (id trace.TraceID) {
	binary.BigEndian.PutUint64(id[8:], n)
	return id
}

func spanID(n uint64) (id trace.SpanID) {
	binary.BigEndian.PutUint64(id[:], n)
	return id
}

// tree builds the spans of one trace; spans are named by their number.
type tree struct {
	id    trace.TraceID
	spans tracetest.SpanStubs
}

func (t *tree) add(id, parent uint64, name string, from, to int, attrs ...attribute.KeyValue) *tracetest.SpanStub {
	s := tracetest.SpanStub{
		Name: name, StartTime: at(from), EndTime: at(to), Attributes: attrs,
		SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: t.id, SpanID: spanID(id), TraceFlags: trace.FlagsSampled}),
		Resource:    resource.NewSchemaless(otelmap.KeyServiceName.String("cline"), otelmap.KeyServiceVersion.String("3.89.2")),
	}
	if parent != 0 {
		s.Parent = trace.NewSpanContext(trace.SpanContextConfig{TraceID: t.id, SpanID: spanID(parent), TraceFlags: trace.FlagsSampled})
	}
	t.spans = append(t.spans, s)
	return &t.spans[len(t.spans)-1]
}

func (t *tree) root(host string, to int, attrs ...attribute.KeyValue) *tracetest.SpanStub {
	return t.add(1, 0, "invoke_agent "+host, 0, to, append([]attribute.KeyValue{
		otelmap.KeyOperation.String(otelmap.OpInvokeAgent), otelmap.KeyAgentName.String(host), otelmap.KeyHost.String(host),
	}, attrs...)...)
}

func (t *tree) tool(id, parent uint64, name string, from, to int, in, out string) *tracetest.SpanStub {
	return t.add(id, parent, "execute_tool "+name, from, to,
		otelmap.KeyOperation.String(otelmap.OpExecuteTool), otelmap.KeyToolName.String(name),
		otelmap.KeyToolArguments.String(in), otelmap.KeyToolResult.String(out))
}

func (t *tree) agent(id, parent uint64, kind string, from, to int, attrs ...attribute.KeyValue) *tracetest.SpanStub {
	return t.add(id, parent, "invoke_agent "+kind, from, to, append([]attribute.KeyValue{
		otelmap.KeyOperation.String(otelmap.OpInvokeAgent), otelmap.KeyAgentName.String(kind),
		otelmap.KeyAgentID.String(fmt.Sprintf("agent-%d", id)),
	}, attrs...)...)
}

func (t *tree) chat(id, parent uint64, model string, from, to int, attrs ...attribute.KeyValue) *tracetest.SpanStub {
	return t.add(id, parent, "chat "+model, from, to, append([]attribute.KeyValue{
		otelmap.KeyOperation.String(otelmap.OpChat), otelmap.KeyRequestModel.String(model),
	}, attrs...)...)
}

func fail(s *tracetest.SpanStub, kind, message string) {
	s.Status = sdktrace.Status{Code: codes.Error, Description: message}
	s.Attributes = append(s.Attributes, otelmap.KeyErrorType.String(kind))
	s.Events = append(s.Events, sdktrace.Event{Name: otelmap.EventException, Time: s.EndTime, Attributes: []attribute.KeyValue{
		otelmap.KeyExceptionType.String(kind), otelmap.KeyExceptionMessage.String(message),
	}})
}

func prompt(s *tracetest.SpanStub, ms int, text string, attrs ...attribute.KeyValue) {
	s.Events = append(s.Events, sdktrace.Event{
		Name: otelmap.EventPrompt, Time: at(ms),
		Attributes: append([]attribute.KeyValue{otelmap.KeyText.String(text)}, attrs...),
	})
}

func (t *tree) snapshots() []sdktrace.ReadOnlySpan { return t.spans.Snapshots() }

// clineRun is a whole run of Cline, with all that its form has a place for.
func clineRun() *tree {
	t := &tree{id: traceID(0xc11e), spans: make(tracetest.SpanStubs, 0, 16)}
	r := t.root("cline", 15_200,
		otelmap.KeyConversationID.String("cline-t-abc123"),
		otelmap.KeyOutcome.String(otelmap.OutcomeCompleted),
		otelmap.KeyHostVersion.String("3.36"),
		otelmap.KeyProvider.String("anthropic"),
		otelmap.KeyHostProvider.String("anthropic"),
		otelmap.KeyRequestModel.String("claude-sonnet-4"),
		otelmap.KeyWorkingDirectory.String("/home/user/project"),
		otelmap.KeyTask.String("Fix the login validation bug"),
		otelmap.KeyResult.String("Fixed and tests pass"),
		otelmap.KeyLLMRequests.Int64(3),
		otelmap.KeyInputTokens.Int64(21_200),
		otelmap.KeyHostInputTokens.Int64(12_000),
		otelmap.KeyOutputTokens.Int64(900),
		otelmap.KeyCacheReadTokens.Int64(8_000),
		otelmap.KeyCacheWriteTokens.Int64(1_200),
		otelmap.KeyCost.Float64(0.0304+0.0304+0.0304),
	)
	prompt(r, 5, "Verify with: npm test")
	r.Events = append(r.Events,
		sdktrace.Event{Name: otelmap.EventNotification, Time: at(50), Attributes: []attribute.KeyValue{otelmap.KeyText.String("approve?")}},
		sdktrace.Event{Name: otelmap.EventCompaction, Time: at(60)})
	prompt(r, 14_000, "<task-notification>done</task-notification>", attribute.Bool(otelmap.KeyPromptInjected, true))
	t.chat(2, 1, "claude-sonnet-4", 10, 900, otelmap.KeyHostInputTokens.Int64(4_000))
	s := t.tool(3, 1, "execute_command", 1_000, 4_300, `{"command":"npm test"}`, "All 42 tests passed")
	s.Attributes = append(s.Attributes, otelmap.KeyHostDuration.Int64(3_200))
	fail(t.tool(4, 1, "replace_in_file", 5_000, 5_012, `{"path":"src/auth.ts"}`, "The file was not found"),
		otelmap.ErrorTool, "The file was not found")
	t.tool(5, 1, "spawn_agent", 6_000, 9_000, `{"task":"look"}`, "looked")
	t.agent(6, 5, "researcher", 6_000, 8_900, otelmap.KeyResult.String("it is in auth.ts"))
	t.tool(7, 6, "read_file", 7_000, 7_020, `{"path":"src/a<b>.ts"}`, "export …")
	fail(t.tool(8, 1, "write_to_file", 10_000, 15_200, `{"path":"x"}`, ""), otelmap.ErrorToolUnfinished, "the tool never reported an end")
	broken := t.chat(9, 1, "claude-sonnet-4", 11_000, 12_000, otelmap.KeyFinish.String("streaming_failed"))
	fail(broken, "streaming_failed", "")
	return t
}

// claudeRun is a whole turn of Claude Code that the API ended.
func claudeRun() *tree {
	t := &tree{id: traceID(0xc1a0de), spans: make(tracetest.SpanStubs, 0, 16)}
	r := t.root("claude-code", 45_200,
		otelmap.KeyConversationID.String("3f0c-session"),
		otelmap.KeyOutcome.String(otelmap.OutcomeFailed),
		otelmap.KeyHostVersion.String("2.1.329"),
		otelmap.KeyProvider.String("anthropic"),
		otelmap.KeyRequestModel.String("claude-sonnet-4-5-20250514"),
		otelmap.KeyWorkingDirectory.String("/home/user/project"),
		otelmap.KeyPermissionMode.String("acceptEdits"),
		otelmap.KeyTask.String("Fix the login bug in auth.py"),
	)
	fail(r, "rate_limit", "API Error: 429")
	prompt(r, 0, "Fix the login bug in auth.py")
	t.tool(2, 1, "Read", 1_000, 1_030, `{"file_path":"auth.py"}`, "def login(): ...")
	fail(t.tool(3, 1, "Bash", 2_000, 2_500, `{"command":"pytest"}`, ""), otelmap.ErrorToolFailure, "exit status 1")
	t.tool(4, 1, "Agent", 3_000, 3_400, `{"subagent_type":"Explore"}`, "")
	t.agent(5, 4, "Explore", 3_100, 9_000, otelmap.KeyResult.String("found two callers"))
	t.tool(6, 5, "Grep", 3_200, 3_300, `{"pattern":"login("}`, "2 matches")
	t.chat(7, 1, "claude-sonnet-4-5-20250514", 100, 900, otelmap.KeyInputTokens.Int64(1_500),
		otelmap.KeyHostInputTokens.Int64(20), otelmap.KeyOutputTokens.Int64(40), otelmap.KeyCacheReadTokens.Int64(1_480),
		otelmap.KeyCacheWriteTokens.Int64(0), otelmap.KeyCost.Float64(0.01))
	t.chat(8, 1, "claude-sonnet-4-5-20250514", 1_100, 1_900, otelmap.KeyInputTokens.Int64(1_600),
		otelmap.KeyHostInputTokens.Int64(22), otelmap.KeyOutputTokens.Int64(45), otelmap.KeyCost.Float64(0.02))
	return t
}

// smallRun is a run of its own trace, told apart by n.
func smallRun(n uint64) *tree {
	t := &tree{id: traceID(n), spans: make(tracetest.SpanStubs, 0, 4)}
	r := t.root("cline", 1_000, otelmap.KeyTask.String(fmt.Sprintf("task %d", n)), otelmap.KeyOutcome.String(otelmap.OutcomeCompleted))
	prompt(r, 0, fmt.Sprintf("task %d", n))
	t.tool(2, 1, "read_file", 100, 200, `{"path":"a"}`, "b")
	return t
}

func runs(ns ...uint64) []sdktrace.ReadOnlySpan {
	var out []sdktrace.ReadOnlySpan
	for _, n := range ns {
		out = append(out, smallRun(n).snapshots()...)
	}
	return slices.Clip(out)
}
