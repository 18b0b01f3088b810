package view

import (
	"crypto/sha256"
	"fmt"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
)

// t0 is when the traces of the tests begin.
var t0 = time.Date(2026, 3, 4, 10, 15, 0, 0, time.UTC)

func at(d time.Duration) time.Time { return t0.Add(d) }

func nano(d time.Duration) uint64 { return otlp.UnixNano(at(d)) }

func str(key string, v string) *commonpb.KeyValue { return otlp.String(key, v) }

func num(key string, v int64) *commonpb.KeyValue { return otlp.Int(key, v) }

func float(key string, v float64) *commonpb.KeyValue { return otlp.Float(key, v) }

// build makes the spans of one trace.
type build struct {
	id    [16]byte
	spans []*tracepb.Span
	// version is the scope's.
	version string
}

func newBuild(name string) *build {
	sum := sha256.Sum256([]byte(name))
	return &build{id: [16]byte(sum[:16]), version: "0.1.0"}
}

func spanID(n int) []byte { return []byte{0xa0, 0, 0, 0, 0, 0, byte(n >> 8), byte(n)} }

// messages returns all spans as one request.
func (b *build) messages() []*tracepb.ResourceSpans { return b.request(b.spans...) }

func (b *build) request(spans ...*tracepb.Span) []*tracepb.ResourceSpans {
	return []*tracepb.ResourceSpans{{
		Resource: &resourcepb.Resource{Attributes: []*commonpb.KeyValue{
			str(otelmap.KeyServiceName, "cline"), str(otelmap.KeyServiceVersion, "3.39.0"),
		}},
		SchemaUrl: otelmap.SchemaURL,
		ScopeSpans: []*tracepb.ScopeSpans{{
			Scope:     &commonpb.InstrumentationScope{Name: otelmap.ScopeName, Version: b.version},
			SchemaUrl: otelmap.SchemaURL, Spans: spans,
		}},
	}}
}

// add appends a span below the span numbered parent and returns its number.
// A negative parent is none.
func (b *build) add(parent int, name string, from, to time.Duration, a ...*commonpb.KeyValue) int {
	n := len(b.spans) + 1
	s := &tracepb.Span{
		Name: name, Kind: tracepb.Span_SPAN_KIND_INTERNAL, TraceId: b.id[:], SpanId: spanID(n), Flags: 0x101,
		StartTimeUnixNano: nano(from), EndTimeUnixNano: nano(to), Attributes: a,
	}
	if parent >= 0 {
		s.ParentSpanId = spanID(parent)
	}
	b.spans = append(b.spans, s)
	return n
}

func (b *build) last() *tracepb.Span { return b.spans[len(b.spans)-1] }

func (b *build) fail(kind, message string) {
	s := b.last()
	s.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: message}
	s.Attributes = append(s.Attributes, str(otelmap.KeyErrorType, kind))
	s.Events = append(s.Events, &tracepb.Span_Event{
		Name: otelmap.EventException, TimeUnixNano: s.EndTimeUnixNano, Attributes: []*commonpb.KeyValue{
			str(otelmap.KeyExceptionType, kind), str(otelmap.KeyExceptionMessage, message),
		},
	})
}

func (b *build) event(span int, name string, after time.Duration, a ...*commonpb.KeyValue) {
	s := b.spans[span-1]
	s.Events = append(s.Events, &tracepb.Span_Event{Name: name, TimeUnixNano: nano(after), Attributes: a})
}

func (b *build) root(task, outcome string, took time.Duration, a ...*commonpb.KeyValue) int {
	return b.add(-1, "invoke_agent cline", 0, took, append([]*commonpb.KeyValue{
		str(otelmap.KeyOperation, otelmap.OpInvokeAgent),
		str(otelmap.KeyHost, "cline"),
		str(otelmap.KeyConversationID, "1772619300123"),
		str(otelmap.KeyOutcome, outcome),
		str(otelmap.KeyInputMessages, otelmap.TextMessages(otelmap.RoleUser, task)),
		str(otelmap.KeyRequestModel, "claude-sonnet-4-5"),
		str(otelmap.KeyWorkingDirectory, "/home/dev/shop-api"),
	}, a...)...)
}

func (b *build) tool(parent int, name, input string, from, to time.Duration) int {
	return b.add(parent, "execute_tool "+name, from, to,
		str(otelmap.KeyOperation, otelmap.OpExecuteTool),
		str(otelmap.KeyToolName, name),
		str(otelmap.KeyToolCallID, fmt.Sprintf("toolu_%02d", len(b.spans))),
		str(otelmap.KeyToolArguments, input),
		str(otelmap.KeyToolResult, "first line\nsecond line"),
	)
}

func usageAttrs(in, out, cached int64, cost float64) []*commonpb.KeyValue {
	return []*commonpb.KeyValue{
		num(otelmap.KeyInputTokens, in), num(otelmap.KeyOutputTokens, out),
		num(otelmap.KeyCacheReadTokens, cached), num(otelmap.KeyCacheWriteTokens, 0),
		float(otelmap.KeyCost, cost),
	}
}

func (b *build) chat(parent int, from, to time.Duration, usage ...*commonpb.KeyValue) int {
	id := b.add(parent, "chat claude-sonnet-4-5", from, to, append([]*commonpb.KeyValue{
		str(otelmap.KeyOperation, otelmap.OpChat),
		str(otelmap.KeyRequestModel, "claude-sonnet-4-5"),
		str(otelmap.KeyResponseID, fmt.Sprintf("msg_%02d", len(b.spans))),
		str(otelmap.KeyOutputMessages, otelmap.AnswerMessages("I will look at the tests first.\nThen the handler.", "")),
	}, usage...)...)
	b.last().Kind = tracepb.Span_SPAN_KIND_CLIENT
	return id
}

// clineTrace is a run as Cline has them: two prompts, eight tools of which one
// failed, one was denied and one never ended, a subagent with a tool of its
// own, five requests, a compaction and a notification.
func clineTrace() *build {
	const s, ms = time.Second, time.Millisecond
	b := newBuild("cline")
	root := b.root("Add a health endpoint to the API server.\nIt must answer within 50 ms.", otelmap.OutcomeCompleted, 134*s,
		append(usageAttrs(81_234, 3_456, 60_000, 0.4321),
			num(otelmap.KeyToolCalls, 9), num(otelmap.KeyToolFailures, 3),
			str(otelmap.KeyOutputMessages, otelmap.AnswerMessages("GET /health answers now.", "")))...)
	b.event(root, otelmap.EventPrompt, 0, str(otelmap.KeyText, "Add a health endpoint to the API server.\nIt must answer within 50 ms."))
	b.event(root, otelmap.EventCompaction, 70*s, str("hookspan.compaction.trigger", "auto"), num("hookspan.compaction.tokens", 150000))
	b.event(root, otelmap.EventNotification, 100*s, str(otelmap.KeyText, "Cline wants to execute a command"))
	b.event(root, otelmap.EventPrompt, 104*s, str(otelmap.KeyText, "No, do not push. Run the tests again."))

	b.chat(root, 10*ms, 3*s, usageAttrs(12_000, 420, 9_000, 0.0456)...)
	b.tool(root, "read_file", `{"path":"src/server.ts"}`, 3*s, 3*s+15*ms)
	b.tool(root, "search_files", `{"path":"src","regex":"app\\.get\\(","file_pattern":"*.ts"}`, 3*s+20*ms, 3*s+180*ms)
	b.chat(root, 4*s, 9*s+300*ms, usageAttrs(15_500, 812, 12_000, 0.0611)...)
	b.tool(root, "replace_in_file", `{"diff":"------- SEARCH\napp.listen(8080)\n=======\napp.get('/health'…"}`, 9*s+400*ms, 9*s+460*ms)
	b.tool(root, "execute_command", `{"command":"npm test","requires_approval":false}`, 12*s, 31*s)
	b.fail(otelmap.ErrorTool, "Command failed with exit code 1.\n\n  1 failing\n    health: expected 200, got 404")
	agent := b.tool(root, "use_subagents", `{"prompt_1":"Find every place that starts a server"}`, 35*s, 66*s)
	sub := b.add(agent, "invoke_agent subagent", 35*s+100*ms, 65*s, str(otelmap.KeyOperation, otelmap.OpInvokeAgent),
		str(otelmap.KeyAgentName, "subagent"), str(otelmap.KeyAgent, "agent-1"))
	b.chat(sub, 35*s+200*ms, 40*s, usageAttrs(8_000, 300, 0, 0.0284)...)
	b.tool(sub, "list_files", `{"path":"."}`, 41*s, 41*s)
	b.chat(root, 72*s, 80*s, usageAttrs(21_000, 900, 18_000, 0.0890)...)
	b.tool(root, "execute_command", `{"command":"git push origin main"}`, 100*s, 103*s)
	b.fail(otelmap.ErrorToolDenied, "The user denied this operation.")
	b.chat(root, 105*s, 108*s)
	b.fail("streaming_failed", "")
	b.tool(root, "execute_command", `{"command":"npm test -- --watch"}`, 109*s, 130*s)
	b.fail(otelmap.ErrorToolUnfinished, "the tool never reported an end")
	b.tool(root, "attempt_completion", `{"result":"GET /health answers now."}`, 131*s, 131*s+2*ms)
	return b
}
