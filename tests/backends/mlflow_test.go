package backends

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
)

// mlflow is an MLflow on loopback with an experiment.
type mlflow struct{ base, experiment string }

func startMLflow(t *testing.T) (m mlflow) {
	t.Helper()
	program, dir, at := python(t, "mlflow"), t.TempDir(), addresses(t, 1)
	host, port, _ := strings.Cut(at[0], ":")
	m.base = "http://" + at[0]
	start(t, dir, m.base+"/health", []string{"MLFLOW_DISABLE_TELEMETRY=true"},
		program, "-m", "mlflow", "server", "--host", host, "--port", port, "--workers", "1", "--backend-store-uri", "sqlite:///mlflow.db")
	var created struct {
		ID string `json:"experiment_id"`
	}
	if err := ask(t.Context(), http.MethodPost, m.base+"/api/2.0/mlflow/experiments/create", map[string]string{"name": "hookspan"}, &created); err != nil {
		t.Fatal(err)
	}
	m.experiment = created.ID
	return m
}

func (m mlflow) endpoint() endpoint {
	return endpoint{url: m.base, headers: "x-mlflow-experiment-id=" + m.experiment}
}

// mlflowTrace is what MLflow lists of a trace.
type mlflowTrace struct {
	ID       string            `json:"trace_id"`
	Request  string            `json:"request_preview"`
	Response string            `json:"response_preview"`
	Metadata map[string]string `json:"trace_metadata"`
}

// mlflowTokens and mlflowCost are in the metadata of a trace, as JSON.
type mlflowTokens struct {
	Input  int64 `json:"input_tokens"`
	Output int64 `json:"output_tokens"`
	Read   int64 `json:"cache_read_input_tokens"`
	Write  int64 `json:"cache_creation_input_tokens"`
}

type mlflowCost struct {
	Total float64 `json:"total_cost"`
}

// mlflowSpan is a span with what MLflow has added to its attributes.
type mlflowSpan struct {
	ID         string `json:"span_id"`
	Attributes []struct {
		Key   string
		Value map[string]any
	}
}

// text returns a value as text, as JSON where it has parts.
func (s *mlflowSpan) text(key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			for _, v := range a.Value {
				if text, ok := v.(string); ok {
					return text
				}
				text, _ := json.Marshal(v)
				return string(text)
			}
		}
	}
	return ""
}

// mlflowState is what MLflow has.
type mlflowState struct {
	traces  []mlflowTrace
	spans   map[string]mlflowSpan
	byModel map[string]float64
}

// ask asks for all traces, their spans, and the cost by model.
func (m mlflow) ask(ctx context.Context) (s mlflowState, err error) {
	var list struct{ Traces []mlflowTrace }
	where := map[string]any{"type": "MLFLOW_EXPERIMENT", "mlflow_experiment": map[string]string{"experiment_id": m.experiment}}
	if err := ask(ctx, http.MethodPost, m.base+"/api/3.0/mlflow/traces/search", map[string]any{"locations": []any{where}, "max_results": 500}, &list); err != nil {
		return s, err
	}
	s.traces, s.spans, s.byModel = list.Traces, make(map[string]mlflowSpan), make(map[string]float64)
	for _, t := range list.Traces {
		var one struct{ Trace struct{ Spans []mlflowSpan } }
		if err := ask(ctx, http.MethodGet, m.base+"/api/3.0/mlflow/traces/get?trace_id="+t.ID, nil, &one); err != nil {
			return s, err
		}
		for _, span := range one.Trace.Spans {
			if _, twice := s.spans[span.ID]; twice {
				return s, fmt.Errorf("span %s is there twice", span.ID)
			}
			s.spans[span.ID] = span
		}
	}
	var costs struct {
		Points []struct {
			Dimensions struct {
				Model string `json:"span_model_name"`
			}
			Values struct{ Sum float64 }
		} `json:"data_points"`
	}
	err = ask(ctx, http.MethodPost, m.base+"/api/3.0/mlflow/traces/metrics", map[string]any{
		"experiment_ids": []string{m.experiment}, "view_type": "SPANS", "metric_name": "total_cost",
		"aggregations": []any{map[string]string{"aggregation_type": "SUM"}}, "dimensions": []string{"span_model_name"},
	}, &costs)
	for _, p := range costs.Points {
		s.byModel[p.Dimensions.Model] += p.Values.Sum
	}
	return s, err
}

func TestMLflowShowsEveryTrace(t *testing.T) {
	asked(t)
	m, from := startMLflow(t), newSender(t)
	from.export(t, m.endpoint())
	m.check(t, from.spans)
	from.export(t, m.endpoint())
	m.check(t, append(slices.Clone(from.spans), from.test(t, m.endpoint())...))
}

// check holds all that MLflow has against what was sent.
func (m mlflow) check(t *testing.T, spans []*tracepb.Span) {
	t.Helper()
	got, err := m.ask(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(got.spans) != len(spans) || len(got.traces) != len(roots(spans)) {
		t.Errorf("MLflow has %d spans in %d traces, want %d in %d", len(got.spans), len(got.traces), len(spans), len(roots(spans)))
	}
	byTrace := make(map[string][]*tracepb.Span)
	for _, s := range spans {
		byTrace["tr-"+otlp.TraceID(s)] = append(byTrace["tr-"+otlp.TraceID(s)], s)
		checkMLflowSpan(t, s, got.spans[base64.StdEncoding.EncodeToString(s.SpanId)])
	}
	cost := 0.0
	for _, trace := range got.traces {
		cost += checkMLflowTrace(t, byTrace[trace.ID], trace)
	}
	checkMLflowCost(t, spans, got.byModel, cost)
}

// checkMLflowTrace holds the row of a trace against its spans and returns its cost.
func checkMLflowTrace(t *testing.T, spans []*tracepb.Span, got mlflowTrace) float64 {
	t.Helper()
	if len(spans) == 0 {
		t.Errorf("trace %s was not sent", got.ID)
		return 0
	}
	root := roots(spans)[0]
	same(t, root, "request", got.Request != "", otlp.Text(root.Attributes, otelmap.KeyInputValue) != "")
	same(t, root, "response", got.Response != "", otlp.Text(root.Attributes, otelmap.KeyOutputValue) != "")
	same(t, root, "session", got.Metadata["mlflow.trace.session"], otlp.Text(root.Attributes, otelmap.KeyConversationID))
	same(t, root, "user", got.Metadata["mlflow.trace.user"], otlp.Text(root.Attributes, otelmap.KeyUser))
	var tokens mlflowTokens
	if text := got.Metadata["mlflow.trace.tokenUsage"]; text != "" {
		if err := json.Unmarshal([]byte(text), &tokens); err != nil {
			t.Error(err)
		}
	}
	same(t, root, "tokens", tokens, mlflowTokens{
		sum(spans, otelmap.KeyInputTokens), sum(spans, otelmap.KeyOutputTokens),
		sum(spans, otelmap.KeyCacheReadTokens), sum(spans, otelmap.KeyCacheWriteTokens),
	})
	var cost mlflowCost
	if text := got.Metadata["mlflow.trace.cost"]; text != "" {
		if err := json.Unmarshal([]byte(text), &cost); err != nil {
			t.Error(err)
		}
	}
	return cost.Total
}

// checkMLflowSpan holds a span against what MLflow shows of it.
func checkMLflowSpan(t *testing.T, s *tracepb.Span, got mlflowSpan) {
	t.Helper()
	kind, input, output, model := "", "", "", ""
	switch text := func(key string) string { return otlp.Text(s.Attributes, key) }; text(otelmap.KeyOperation) {
	case otelmap.OpChat:
		kind, input, output, model = "CHAT_MODEL", text(otelmap.KeyInputMessages), text(otelmap.KeyOutputMessages), text(otelmap.KeyRequestModel)
	case otelmap.OpExecuteTool:
		kind, input, output = "TOOL", text(otelmap.KeyToolArguments), text(otelmap.KeyToolResult)
	case otelmap.OpInvokeWorkflow: // MLflow has no type for it.
		input, output = text(otelmap.KeyToolArguments), text(otelmap.KeyToolResult)
	default:
		kind, input, output = "AGENT", text(otelmap.KeyInputMessages), text(otelmap.KeyOutputMessages)
	}
	same(t, s, "type", got.text("mlflow.spanType"), kind)
	same(t, s, "input", got.text("mlflow.spanInputs") != "", input != "")
	same(t, s, "output", got.text("mlflow.spanOutputs") != "", output != "")
	same(t, s, "model", got.text("mlflow.llm.model"), model)
}

// otherPrice are the models of recorded requests that hookspan does not price as MLflow.
var otherPrice = map[string]string{
	"claude-sonnet-4-5": "Cline has reported a cost",
	"claude-sonnet-5":   "MLflow takes one-hour cache writes for five-minute ones",
}

// checkMLflowCost holds the costs by model against those of traces, and against hookspan's.
func checkMLflowCost(t *testing.T, spans []*tracepb.Span, byModel map[string]float64, cost float64) {
	t.Helper()
	total := 0.0
	for _, c := range byModel {
		total += c
	}
	if total == 0 || math.Abs(total-cost) > 1e-9 {
		t.Errorf("MLflow has a cost of %v by model, of %v by trace", total, cost)
	}
	ours := make(map[string]float64)
	for _, s := range spans {
		if v := otlp.Find(s.Attributes, otelmap.KeyCost); v != nil && otlp.Text(s.Attributes, otelmap.KeyOperation) == otelmap.OpChat {
			ours[otlp.Text(s.Attributes, otelmap.KeyRequestModel)] += v.Value.(*commonpb.AnyValue_DoubleValue).DoubleValue
		}
	}
	for model, c := range byModel {
		if otherPrice[model] == "" && math.Abs(c-ours[model]) > 1e-9 {
			t.Errorf("%s costs %v by MLflow's list, %v by hookspan's", model, c, ours[model])
		}
	}
}
