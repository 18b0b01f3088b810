// Package tracetest makes traces for tests of what stores and shows them.
package tracetest

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

// T0 is when the traces of the tests begin.
var T0 = time.Date(2026, 3, 4, 10, 15, 0, 0, time.UTC)

// At is the time so long after T0.
func At(d time.Duration) time.Time { return T0.Add(d) }

// Nano is At as spans have it.
func Nano(d time.Duration) uint64 { return otlp.UnixNano(At(d)) }

// Build makes the spans of one trace.
type Build struct {
	ID    [16]byte
	Spans []*tracepb.Span
	// Version is the scope's.
	Version string
}

// New begins a trace whose id follows from a name.
func New(name string) *Build {
	sum := sha256.Sum256([]byte(name))
	return &Build{ID: [16]byte(sum[:16]), Version: "0.1.0"}
}

// SpanID is the id of the n-th span of a trace, from 1.
func SpanID(n int) []byte { return []byte{0xa0, 0, 0, 0, 0, 0, byte(n >> 8), byte(n)} } //nolint:gosec // A small number.

// Messages returns all spans as one request.
func (b *Build) Messages() []*tracepb.ResourceSpans { return b.Request(b.Spans...) }

// Request returns spans as one request.
func (b *Build) Request(spans ...*tracepb.Span) []*tracepb.ResourceSpans {
	return []*tracepb.ResourceSpans{{
		Resource: &resourcepb.Resource{Attributes: []*commonpb.KeyValue{
			otlp.String(otelmap.KeyServiceName, "cline"), otlp.String(otelmap.KeyServiceVersion, "3.39.0"),
		}},
		SchemaUrl: otelmap.SchemaURL,
		ScopeSpans: []*tracepb.ScopeSpans{{
			Scope:     &commonpb.InstrumentationScope{Name: otelmap.ScopeName, Version: b.Version},
			SchemaUrl: otelmap.SchemaURL, Spans: spans,
		}},
	}}
}

// Add appends a span below the span numbered parent and returns its number.
// A negative parent is none.
func (b *Build) Add(parent int, name string, from, to time.Duration, a ...*commonpb.KeyValue) int {
	n := len(b.Spans) + 1
	s := &tracepb.Span{
		Name: name, Kind: tracepb.Span_SPAN_KIND_INTERNAL, TraceId: b.ID[:], SpanId: SpanID(n), Flags: 0x101,
		StartTimeUnixNano: Nano(from), EndTimeUnixNano: Nano(to), Attributes: a,
	}
	if parent >= 0 {
		s.ParentSpanId = SpanID(parent)
	}
	b.Spans = append(b.Spans, s)
	return n
}

// Last is the span that was added last.
func (b *Build) Last() *tracepb.Span { return b.Spans[len(b.Spans)-1] }

// Fail has the last span fail.
func (b *Build) Fail(kind, message string) {
	s := b.Last()
	s.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: message}
	s.Attributes = append(s.Attributes, otlp.String(otelmap.KeyErrorType, kind))
	s.Events = append(s.Events, &tracepb.Span_Event{
		Name: otelmap.EventException, TimeUnixNano: s.EndTimeUnixNano, Attributes: []*commonpb.KeyValue{
			otlp.String(otelmap.KeyExceptionType, kind), otlp.String(otelmap.KeyExceptionMessage, message),
		},
	})
}

// Event adds an event to a span.
func (b *Build) Event(span int, name string, after time.Duration, a ...*commonpb.KeyValue) {
	s := b.Spans[span-1]
	s.Events = append(s.Events, &tracepb.Span_Event{Name: name, TimeUnixNano: Nano(after), Attributes: a})
}

// Root adds a run.
func (b *Build) Root(task, outcome string, took time.Duration, a ...*commonpb.KeyValue) int {
	return b.Add(-1, "invoke_agent cline", 0, took, append([]*commonpb.KeyValue{
		otlp.String(otelmap.KeyOperation, otelmap.OpInvokeAgent),
		otlp.String(otelmap.KeyHost, "cline"),
		otlp.String(otelmap.KeyConversationID, "1772619300123"),
		otlp.String(otelmap.KeyOutcome, outcome),
		otlp.String(otelmap.KeyInputMessages, otelmap.TextMessages(otelmap.RoleUser, task)),
		otlp.String(otelmap.KeyRequestModel, "claude-sonnet-4-5"),
		otlp.String(otelmap.KeyWorkingDirectory, "/home/dev/shop-api"),
	}, a...)...)
}

// Tool adds a call that worked.
func (b *Build) Tool(parent int, name, input string, from, to time.Duration) int {
	return b.Add(parent, "execute_tool "+name, from, to,
		otlp.String(otelmap.KeyOperation, otelmap.OpExecuteTool),
		otlp.String(otelmap.KeyToolName, name),
		otlp.String(otelmap.KeyToolCallID, fmt.Sprintf("toolu_%02d", len(b.Spans))),
		otlp.String(otelmap.KeyToolArguments, input),
		otlp.String(otelmap.KeyToolResult, "first line\nsecond line"),
	)
}

// Usage are the attributes of a request's tokens and cost.
func Usage(in, out, cached int64, cost float64) []*commonpb.KeyValue {
	return []*commonpb.KeyValue{
		otlp.Int(otelmap.KeyInputTokens, in), otlp.Int(otelmap.KeyOutputTokens, out),
		otlp.Int(otelmap.KeyCacheReadTokens, cached), otlp.Int(otelmap.KeyCacheWriteTokens, 0),
		otlp.Float(otelmap.KeyCost, cost),
	}
}

// Chat adds a request.
func (b *Build) Chat(parent int, from, to time.Duration, usage ...*commonpb.KeyValue) int {
	id := b.Add(parent, "chat claude-sonnet-4-5", from, to, append([]*commonpb.KeyValue{
		otlp.String(otelmap.KeyOperation, otelmap.OpChat),
		otlp.String(otelmap.KeyRequestModel, "claude-sonnet-4-5"),
		otlp.String(otelmap.KeyResponseID, fmt.Sprintf("msg_%02d", len(b.Spans))),
		otlp.String(otelmap.KeyOutputMessages, otelmap.AnswerMessages("I will look at the tests first.\nThen the handler.", "")),
	}, usage...)...)
	b.Last().Kind = tracepb.Span_SPAN_KIND_CLIENT
	return id
}

// Cline is a run as Cline has them: two prompts, eight tools of which one
// failed, one was denied and one never ended, a subagent with a tool,
// five requests, a compaction and a notification.
func Cline() *Build {
	const s, ms = time.Second, time.Millisecond
	b := New("cline")
	root := b.Root("Add a health endpoint to the API server.\nIt must answer within 50 ms.", otelmap.OutcomeCompleted, 134*s,
		append(Usage(81_234, 3_456, 60_000, 0.4321),
			otlp.Int(otelmap.KeyToolCalls, 9), otlp.Int(otelmap.KeyToolFailures, 3),
			otlp.String(otelmap.KeyOutputMessages, otelmap.AnswerMessages("GET /health answers now.", "")))...)
	b.Event(root, otelmap.EventPrompt, 0, otlp.String(otelmap.KeyText, "Add a health endpoint to the API server.\nIt must answer within 50 ms."))
	b.Event(root, otelmap.EventCompaction, 70*s, otlp.String("hookspan.compaction.trigger", "auto"), otlp.Int("hookspan.compaction.tokens", 150000))
	b.Event(root, otelmap.EventNotification, 100*s, otlp.String(otelmap.KeyText, "Cline wants to execute a command"))
	b.Event(root, otelmap.EventPrompt, 104*s, otlp.String(otelmap.KeyText, "No, do not push. Run the tests again."))

	b.Chat(root, 10*ms, 3*s, Usage(12_000, 420, 9_000, 0.0456)...)
	b.Tool(root, "read_file", `{"path":"src/server.ts"}`, 3*s, 3*s+15*ms)
	b.Tool(root, "search_files", `{"path":"src","regex":"app\\.get\\(","file_pattern":"*.ts"}`, 3*s+20*ms, 3*s+180*ms)
	b.Chat(root, 4*s, 9*s+300*ms, Usage(15_500, 812, 12_000, 0.0611)...)
	b.Tool(root, "replace_in_file", `{"diff":"------- SEARCH\napp.listen(8080)\n=======\napp.get('/health'…"}`, 9*s+400*ms, 9*s+460*ms)
	b.Tool(root, "execute_command", `{"command":"npm test","requires_approval":false}`, 12*s, 31*s)
	b.Fail(otelmap.ErrorTool, "Command failed with exit code 1.\n\n  1 failing\n    health: expected 200, got 404")
	agent := b.Tool(root, "use_subagents", `{"prompt_1":"Find every place that starts a server"}`, 35*s, 66*s)
	sub := b.Add(agent, "invoke_agent subagent", 35*s+100*ms, 65*s, otlp.String(otelmap.KeyOperation, otelmap.OpInvokeAgent),
		otlp.String(otelmap.KeyAgentName, "subagent"), otlp.String(otelmap.KeyAgent, "agent-1"))
	b.Chat(sub, 35*s+200*ms, 40*s, Usage(8_000, 300, 0, 0.0284)...)
	b.Tool(sub, "list_files", `{"path":"."}`, 41*s, 41*s)
	b.Chat(root, 72*s, 80*s, Usage(21_000, 900, 18_000, 0.0890)...)
	b.Tool(root, "execute_command", `{"command":"git push origin main"}`, 100*s, 103*s)
	b.Fail(otelmap.ErrorToolDenied, "The user denied this operation.")
	b.Chat(root, 105*s, 108*s)
	b.Fail("streaming_failed", "")
	b.Tool(root, "execute_command", `{"command":"npm test -- --watch"}`, 109*s, 130*s)
	b.Fail(otelmap.ErrorToolUnfinished, "the tool never reported an end")
	b.Tool(root, "attempt_completion", `{"result":"GET /health answers now."}`, 131*s, 131*s+2*ms)
	return b
}
