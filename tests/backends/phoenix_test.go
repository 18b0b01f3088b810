package backends

import (
	std "cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
)

func startPhoenix(t *testing.T) (base string) {
	t.Helper()
	program, dir, at := python(t, "arize-phoenix"), t.TempDir(), addresses(t, 2)
	host, port, _ := strings.Cut(at[0], ":")
	_, grpc, _ := strings.Cut(at[1], ":")
	start(t, dir, "http://"+at[0]+"/healthz", []string{
		"PHOENIX_WORKING_DIR=" + dir, "PHOENIX_HOST=" + host, "PHOENIX_PORT=" + port, "PHOENIX_GRPC_PORT=" + grpc,
		"PHOENIX_TELEMETRY_ENABLED=false", "PHOENIX_ALLOW_EXTERNAL_RESOURCES=false",
	}, program, "-m", "phoenix.server.main", "serve")
	return "http://" + at[0]
}

// phoenixText is a text that Phoenix shows in a column.
type phoenixText struct{ Value string }

// phoenixSpan is what Phoenix shows of a span.
type phoenixSpan struct {
	SpanID, SpanKind string
	Input, Output    phoenixText
	Attributes       string
}

// phoenixSession is what Phoenix lists of a session.
type phoenixSession struct {
	SessionID, UserID      string
	NumTraces              int
	FirstInput, LastOutput phoenixText
}

// phoenixState is what Phoenix has.
type phoenixState struct {
	Traces   int
	Tokens   float64
	Spans    map[string]phoenixSpan
	Sessions map[string]phoenixSession
}

// nodes is a list as GraphQL gives it.
type nodes[T any] struct{ Edges []struct{ Node T } }

// askPhoenix asks about its projects, of which there is one.
func askPhoenix[T any](ctx context.Context, base, fields string) (project T, err error) {
	var answer struct{ Data struct{ Projects nodes[T] } }
	query := map[string]string{"query": "{ projects { edges { node {" + fields + "} } } }"}
	err = ask(ctx, http.MethodPost, base+"/graphql", query, &answer)
	if err == nil && len(answer.Data.Projects.Edges) != 1 {
		err = fmt.Errorf("Phoenix has %d projects, want 1", len(answer.Data.Projects.Edges))
	}
	if err != nil {
		return project, err
	}
	return answer.Data.Projects.Edges[0].Node, nil
}

// awaitPhoenix waits until that many spans are there, since Phoenix stores them after its
// answer, and returns what it has.
func awaitPhoenix(t *testing.T, base string, spans int) (s phoenixState) {
	t.Helper()
	await(t, "spans in Phoenix", func(ctx context.Context) error {
		got, err := askPhoenix[struct{ RecordCount int }](ctx, base, "recordCount")
		if err == nil && got.RecordCount < spans {
			err = fmt.Errorf("found %d spans, want %d", got.RecordCount, spans)
		}
		return err
	})
	p, err := askPhoenix[struct {
		TraceCount      int
		TokenCountTotal float64
		Spans           nodes[phoenixSpan]
		Sessions        nodes[phoenixSession]
	}](t.Context(), base, `traceCount tokenCountTotal
		spans(first: 1000) { edges { node { spanId spanKind input { value } output { value } attributes } } }
		sessions(first: 1000) { edges { node { sessionId userId numTraces firstInput { value } lastOutput { value } } } }`)
	if err != nil {
		t.Fatal(err)
	}
	s = phoenixState{p.TraceCount, p.TokenCountTotal, make(map[string]phoenixSpan), make(map[string]phoenixSession)}
	for _, e := range p.Spans.Edges {
		if _, twice := s.Spans[e.Node.SpanID]; twice {
			t.Errorf("span %s is there twice", e.Node.SpanID)
		}
		s.Spans[e.Node.SpanID] = e.Node
	}
	for _, e := range p.Sessions.Edges {
		s.Sessions[e.Node.SessionID] = e.Node
	}
	return s
}

func TestPhoenixShowsEveryTrace(t *testing.T) {
	asked(t)
	base, from := startPhoenix(t), newSender(t)
	to := endpoint{url: base}
	from.export(t, to)
	got := awaitPhoenix(t, base, len(from.spans))
	checkPhoenix(t, from.spans, got)

	from.export(t, to)
	// What is sent afterwards is stored afterwards.
	all := append(slices.Clone(from.spans), from.test(t, to)...)
	checkPhoenix(t, all, awaitPhoenix(t, base, len(all)))
}

// checkPhoenix holds all that Phoenix has against what was sent.
func checkPhoenix(t *testing.T, spans []*tracepb.Span, got phoenixState) {
	t.Helper()
	if len(got.Spans) != len(spans) {
		t.Errorf("Phoenix has %d spans, want %d", len(got.Spans), len(spans))
	}
	for _, s := range spans {
		checkPhoenixSpan(t, s, got.Spans[otlp.SpanID(s)])
	}
	want := make(map[string]phoenixSession)
	for _, s := range roots(spans) {
		id := otlp.Text(s.Attributes, otelmap.KeyConversationID)
		w, later := want[id]
		if w.SessionID = id; !later {
			w.FirstInput.Value = otlp.Text(s.Attributes, otelmap.KeyInputValue)
		}
		w.UserID = std.Or(w.UserID, otlp.Text(s.Attributes, otelmap.KeyUser))
		w.LastOutput.Value = otlp.Text(s.Attributes, otelmap.KeyOutputValue)
		w.NumTraces++
		want[id] = w
	}
	if diff := cmp.Diff(want, got.Sessions); diff != "" {
		t.Errorf("sessions (-sent +in Phoenix):\n%s", diff)
	}
	tokens := sum(spans, otelmap.KeyInputTokens, otelmap.KeyOutputTokens)
	if got.Traces != len(roots(spans)) || int64(got.Tokens) != tokens {
		t.Errorf("Phoenix has %d traces with %v tokens, want %d with %d", got.Traces, got.Tokens, len(roots(spans)), tokens)
	}
}

// checkPhoenixSpan holds a span against what Phoenix shows of it.
func checkPhoenixSpan(t *testing.T, s *tracepb.Span, got phoenixSpan) {
	t.Helper()
	kind := map[string]string{otelmap.OpInvokeAgent: "agent", otelmap.OpChat: "llm", otelmap.OpExecuteTool: "tool", otelmap.OpInvokeWorkflow: "unknown"}
	operation := otlp.Text(s.Attributes, otelmap.KeyOperation)
	if got.SpanKind != kind[operation] {
		t.Errorf("%s %s: kind %q", s.Name, otlp.SpanID(s), got.SpanKind)
		return
	}
	var a struct {
		LLM struct {
			InputMessages  []phoenixMessage                   `json:"input_messages"`
			OutputMessages []phoenixMessage                   `json:"output_messages"`
			ModelName      string                             `json:"model_name"`
			TokenCount     struct{ Prompt, Completion int64 } `json:"token_count"`
		}
		Session struct{ ID string }
		Tool    struct{ Parameters any }
	}
	if err := json.Unmarshal([]byte(got.Attributes), &a); err != nil {
		t.Errorf("%s: %v in %s", s.Name, err, got.Attributes)
		return
	}
	same(t, s, "input messages", phoenixLines(a.LLM.InputMessages), messageLines(otlp.Text(s.Attributes, otelmap.KeyInputMessages)))
	same(t, s, "output messages", phoenixLines(a.LLM.OutputMessages), messageLines(otlp.Text(s.Attributes, otelmap.KeyOutputMessages)))
	same(t, s, "session", a.Session.ID, otlp.Text(s.Attributes, otelmap.KeyConversationID))
	same(t, s, "model", a.LLM.ModelName, otlp.Text(s.Attributes, otelmap.KeyRequestModel))
	same(t, s, "input tokens", a.LLM.TokenCount.Prompt, otlp.Find(s.Attributes, otelmap.KeyInputTokens).GetIntValue())
	same(t, s, "output tokens", a.LLM.TokenCount.Completion, otlp.Find(s.Attributes, otelmap.KeyOutputTokens).GetIntValue())
	switch {
	case operation == otelmap.OpExecuteTool:
		same(t, s, "has parameters", a.Tool.Parameters != nil, otlp.Text(s.Attributes, otelmap.KeyToolArguments) != "")
		same(t, s, "output", got.Output.Value, otlp.Text(s.Attributes, otelmap.KeyToolResult))
	case len(s.ParentSpanId) == 0:
		same(t, s, "input", got.Input.Value, otlp.Text(s.Attributes, otelmap.KeyInputValue))
		same(t, s, "output", got.Output.Value, otlp.Text(s.Attributes, otelmap.KeyOutputValue))
	}
}

// phoenixMessage is a message in Phoenix's panel of a generation.
type phoenixMessage struct {
	Message struct {
		Role, Content string
		ToolCallID    string `json:"tool_call_id"`
		ToolCalls     []struct {
			ToolCall struct {
				ID       string
				Function struct{ Name string }
			} `json:"tool_call"`
		} `json:"tool_calls"`
	}
}

// phoenixLines writes messages as messageLines does.
func phoenixLines(list []phoenixMessage) string {
	var b strings.Builder
	for _, m := range list {
		fmt.Fprintf(&b, "%s %s: %s\n", m.Message.Role, m.Message.ToolCallID, m.Message.Content)
		for _, c := range m.Message.ToolCalls {
			fmt.Fprintf(&b, "call %s %s\n", c.ToolCall.ID, c.ToolCall.Function.Name)
		}
	}
	return b.String()
}

// messageLines writes each message, result and call that was sent in a line.
func messageLines(value string) string {
	var b strings.Builder
	for _, m := range otelmap.Messages(value) {
		id, text, calls := "", "", ""
		for _, p := range m.Parts {
			switch p.Type {
			case otelmap.PartCall:
				calls += fmt.Sprintf("call %s %s\n", p.ID, p.Name)
			case otelmap.PartResponse:
				id, text = p.ID, p.Response
			default:
				text = p.Content
			}
		}
		fmt.Fprintf(&b, "%s %s: %s\n%s", m.Role, id, text, calls)
	}
	return b.String()
}

// same compares what a backend has of a span with what was sent.
func same[T comparable](t *testing.T, s *tracepb.Span, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s %s of trace %s: %s: got %v, want %v", s.Name, otlp.SpanID(s), otlp.TraceID(s), what, got, want)
	}
}
