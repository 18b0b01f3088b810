package store

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/otelmap"
)

var update = flag.Bool("update", false, "write the golden files anew")

// t0 is when the traces of the tests begin.
var t0 = time.Date(2026, 3, 4, 10, 15, 0, 0, time.UTC)

func at(d time.Duration) time.Time { return t0.Add(d) }

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got; -update writes it anew):\n%s", path, d)
	}
}

// build makes the spans of one trace.
type build struct {
	id    trace.TraceID
	n     int
	spans tracetest.SpanStubs
	res   *resource.Resource
}

func newBuild(name string) *build {
	sum := sha256.Sum256([]byte(name))
	return &build{
		id: trace.TraceID(sum[:16]),
		res: resource.NewWithAttributes(otelmap.SchemaURL,
			otelmap.KeyServiceName.String("cline"), otelmap.KeyServiceVersion.String("3.39.0")),
	}
}

func (b *build) context(id int) trace.SpanContext {
	var sid trace.SpanID
	sid[0], sid[6], sid[7] = 0xa0, byte(id>>8), byte(id)
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: b.id, SpanID: sid, TraceFlags: trace.FlagsSampled})
}

// add appends a span below the span numbered parent and returns its number.
// A negative parent is none.
func (b *build) add(parent int, name string, from, to time.Duration, a ...attribute.KeyValue) int {
	b.n++
	s := tracetest.SpanStub{
		Name: name, SpanKind: trace.SpanKindInternal, SpanContext: b.context(b.n),
		StartTime: at(from), EndTime: at(to), Attributes: a, Resource: b.res,
		InstrumentationScope: instrumentation.Scope{Name: otelmap.ScopeName, Version: "0.1.0", SchemaURL: otelmap.SchemaURL},
	}
	if parent >= 0 {
		s.Parent = b.context(parent)
	}
	b.spans = append(b.spans, s)
	return b.n
}

func (b *build) last() *tracetest.SpanStub { return &b.spans[len(b.spans)-1] }

func (b *build) fail(kind, message string) {
	s := b.last()
	s.Status = sdktrace.Status{Code: codes.Error, Description: message}
	s.Attributes = append(s.Attributes, otelmap.KeyErrorType.String(kind))
	s.Events = append(s.Events, sdktrace.Event{
		Name: otelmap.EventException, Time: s.EndTime,
		Attributes: []attribute.KeyValue{
			otelmap.KeyExceptionType.String(kind), otelmap.KeyExceptionMessage.String(message),
		},
	})
}

func (b *build) event(span int, name string, after time.Duration, a ...attribute.KeyValue) {
	s := &b.spans[span-1]
	s.Events = append(s.Events, sdktrace.Event{Name: name, Time: at(after), Attributes: a})
}

func (b *build) root(task, outcome string, took time.Duration, a ...attribute.KeyValue) int {
	return b.add(-1, "invoke_agent cline", 0, took, append([]attribute.KeyValue{
		otelmap.KeyOperation.String(otelmap.OpInvokeAgent),
		otelmap.KeyHost.String("cline"),
		otelmap.KeyConversationID.String("1772619300123"),
		otelmap.KeyOutcome.String(outcome),
		otelmap.KeyTask.String(task),
		otelmap.KeyRequestModel.String("claude-sonnet-4-5"),
		otelmap.KeyWorkingDirectory.String("/home/dev/shop-api"),
	}, a...)...)
}

func (b *build) tool(parent int, name, input string, from, to time.Duration) int {
	return b.add(parent, "execute_tool "+name, from, to,
		otelmap.KeyOperation.String(otelmap.OpExecuteTool),
		otelmap.KeyToolName.String(name),
		otelmap.KeyToolCallID.String(fmt.Sprintf("toolu_%02d", b.n)),
		otelmap.KeyToolArguments.String(input),
		otelmap.KeyToolResult.String("first line\nsecond line"),
	)
}

func usageAttrs(in, out, cached int64, cost float64) []attribute.KeyValue {
	return []attribute.KeyValue{
		otelmap.KeyInputTokens.Int64(in), otelmap.KeyOutputTokens.Int64(out),
		otelmap.KeyCacheReadTokens.Int64(cached), otelmap.KeyCacheWriteTokens.Int64(0),
		otelmap.KeyCost.Float64(cost),
	}
}

func (b *build) chat(parent int, from, to time.Duration, usage ...attribute.KeyValue) int {
	id := b.add(parent, "chat claude-sonnet-4-5", from, to, append([]attribute.KeyValue{
		otelmap.KeyOperation.String(otelmap.OpChat),
		otelmap.KeyRequestModel.String("claude-sonnet-4-5"),
		otelmap.KeyResponseID.String(fmt.Sprintf("msg_%02d", b.n)),
		otelmap.KeyText.String("I will look at the tests first.\nThen the handler."),
	}, usage...)...)
	b.last().SpanKind = trace.SpanKindClient
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
			otelmap.KeyToolCalls.Int64(9), otelmap.KeyToolFailures.Int64(3),
			otelmap.KeyResult.String("GET /health answers now."))...)
	b.event(root, otelmap.EventPrompt, 0, otelmap.KeyText.String("Add a health endpoint to the API server.\nIt must answer within 50 ms."))
	b.event(root, otelmap.EventCompaction, 70*s, attribute.String("hookspan.compaction.trigger", "auto"), attribute.Int("hookspan.compaction.tokens", 150000))
	b.event(root, otelmap.EventNotification, 100*s, otelmap.KeyText.String("Cline wants to execute a command"))
	b.event(root, otelmap.EventPrompt, 104*s, otelmap.KeyText.String("No, do not push. Run the tests again."))

	b.chat(root, 10*ms, 3*s, usageAttrs(12_000, 420, 9_000, 0.0456)...)
	b.tool(root, "read_file", `{"path":"src/server.ts"}`, 3*s, 3*s+15*ms)
	b.tool(root, "search_files", `{"path":"src","regex":"app\\.get\\(","file_pattern":"*.ts"}`, 3*s+20*ms, 3*s+180*ms)
	b.chat(root, 4*s, 9*s+300*ms, usageAttrs(15_500, 812, 12_000, 0.0611)...)
	b.tool(root, "replace_in_file", `{"diff":"------- SEARCH\napp.listen(8080)\n=======\napp.get('/health'…`, 9*s+400*ms, 9*s+460*ms)
	b.tool(root, "execute_command", `{"command":"npm test","requires_approval":false}`, 12*s, 31*s)
	b.fail(otelmap.ErrorTool, "Command failed with exit code 1.\n\n  1 failing\n    health: expected 200, got 404")
	agent := b.tool(root, "use_subagents", `{"prompt_1":"Find every place that starts a server"}`, 35*s, 66*s)
	sub := b.add(agent, "invoke_agent subagent", 35*s+100*ms, 65*s, otelmap.KeyOperation.String(otelmap.OpInvokeAgent),
		otelmap.KeyAgentName.String("subagent"), otelmap.KeyAgentID.String("agent-1"))
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

// openAt opens a store whose clock stands at t0.
func openAt(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	s.Now = func() time.Time { return t0 }
	return s
}

func open(t testing.TB) *Store {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "traces.db"))
}

func export(t testing.TB, s *Store, spans tracetest.SpanStubs) {
	t.Helper()
	if err := s.ExportSpans(t.Context(), spans.Snapshots()); err != nil {
		t.Fatal(err)
	}
}
