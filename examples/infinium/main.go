// Command infinium sends a run of a program's own agent to Infinium, with the
// OpenTelemetry SDK and hookspan's exporter. Spans need the names of the GenAI semantic
// conventions:
//
//	INFINIUM_AGENT_ID=... INFINIUM_AGENT_SECRET=... go run ./examples/infinium
package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/hookspan/hookspan/infinium"
)

func main() {
	if err := run(context.Background(), os.Getenv); err != nil {
		fmt.Fprintln(os.Stderr, "infinium:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, getenv func(string) string) (err error) {
	exporter, err := infinium.New(ctx, infinium.Options{
		BaseURL: getenv("INFINIUM_BASE_URL"), AgentID: getenv("INFINIUM_AGENT_ID"), AgentSecret: getenv("INFINIUM_AGENT_SECRET"),
		Forms: infinium.Forms{"": {Framework: "my-agent", VersionTag: "my_agent_version"}},
	})
	if err != nil {
		return err
	}
	// A run is one trace at Infinium, so all of its spans must go at once: by ForceFlush at
	// its end, not by the batcher's clock.
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter, sdktrace.WithBatchTimeout(time.Hour), sdktrace.WithMaxExportBatchSize(2048)),
		sdktrace.WithResource(resource.NewWithAttributes(semconv.SchemaURL, semconv.ServiceName("my-agent"), semconv.ServiceVersion("1.0.0"))),
	)
	defer func() { err = cmp.Or(err, provider.Shutdown(context.WithoutCancel(ctx))) }()
	agent(ctx, provider.Tracer("example"))
	return provider.ForceFlush(ctx)
}

// agent stands in for an agent that answers a prompt with a tool.
func agent(ctx context.Context, tracer trace.Tracer) {
	ctx, root := tracer.Start(ctx, "invoke_agent my-agent", trace.WithAttributes(
		semconv.GenAIOperationNameInvokeAgent, semconv.GenAIAgentName("my-agent"), semconv.GenAIConversationID("session-1"),
		attribute.String("gen_ai.input.messages", `[{"role": "user", "parts": [{"type": "text", "content": "Run the tests"}]}]`),
	))
	defer root.End()

	_, chat := tracer.Start(ctx, "chat my-model", trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		semconv.GenAIOperationNameChat, semconv.GenAIRequestModel("my-model"), semconv.GenAIProviderNameKey.String("my-provider"),
		semconv.GenAIUsageInputTokens(1200), semconv.GenAIUsageOutputTokens(80),
	))
	chat.End()

	_, tool := tracer.Start(ctx, "execute_tool run_tests", trace.WithAttributes(
		semconv.GenAIOperationNameExecuteTool, semconv.GenAIToolName("run_tests"),
		attribute.String("gen_ai.tool.call.arguments", `{"package": "./..."}`),
	))
	tool.SetAttributes(semconv.ErrorTypeKey.String("TestsFailed"))
	tool.SetStatus(codes.Error, "2 of 42 tests failed")
	tool.End()

	root.SetAttributes(attribute.String("gen_ai.output.messages",
		`[{"role": "assistant", "parts": [{"type": "text", "content": "Two tests fail."}], "finish_reason": "stop"}]`))
}
