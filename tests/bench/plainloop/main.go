// Command plainloop does what a program does that traces itself with the
// OpenTelemetry SDK, and no more: in one goroutine it makes spans and sends them
// over OTLP/HTTP. Its spans are those that hookspan makes of the same events, so
// that a delivery can be compared with it.
//
//	plainloop -endpoint URL [-turns 1000] [-turn 100] [-batch 512] [-way loop|export|deliver]
//
// -way loop makes each span with a tracer; export sends spans made before, by the
// plain exporter; deliver sends them by the exporter of hookspan flush. It prints
// the spans, the requests and the seconds from the first span to the last answer.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/tests/bench/way"
)

func main() {
	var o options
	flag.StringVar(&o.endpoint, "endpoint", "", "where the spans go, path included")
	flag.IntVar(&o.turns, "turns", 1000, "how many traces")
	flag.IntVar(&o.turn, "turn", 100, "how many events each trace is made of")
	flag.IntVar(&o.batch, "batch", 512, "spans in one request")
	flag.StringVar(&o.way, "way", "loop", "loop, export or deliver")
	flag.Parse()
	if err := run(context.Background(), o, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "plainloop: %v\n", err)
		os.Exit(1)
	}
}

type options struct {
	endpoint           string
	turns, turn, batch int
	way                string
}

func run(ctx context.Context, o options, stdout io.Writer) error {
	if o.endpoint == "" || o.turns < 1 || o.batch < 1 || flag.NArg() > 0 {
		return fmt.Errorf("endpoint %q, %d turns, batch %d, %d arguments: want an endpoint, at least one of each and no argument",
			o.endpoint, o.turns, o.batch, flag.NArg())
	}
	spans, err := way.Turn(o.turn)
	if err != nil {
		return err
	}
	var exporter sdktrace.SpanExporter
	if o.way == "deliver" {
		var c otlptrace.Client
		c, err = deliver.NewOTLP(ctx, deliver.OTLP{Endpoint: o.endpoint})
		exporter = otlptrace.NewUnstarted(c)
	} else {
		exporter, err = otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(o.endpoint))
	}
	if err != nil {
		return err
	}
	b := &batcher{ctx: ctx, exporter: exporter, size: o.batch}
	begin := time.Now()
	switch o.way {
	case "loop":
		loop(ctx, spans, o.turns, b)
	case "export", "deliver":
		for range o.turns {
			for _, s := range spans.Snapshots() {
				b.OnEnd(s)
			}
		}
	default:
		return fmt.Errorf("-way %q: want loop, export or deliver", o.way)
	}
	if err := b.ForceFlush(ctx); err != nil {
		return err
	}
	took := time.Since(begin)
	if _, err := fmt.Fprintln(stdout, o.turns*len(spans), b.requests, took.Seconds()); err != nil {
		return err
	}
	return exporter.Shutdown(ctx)
}

// loop makes the spans of each turn with the SDK: the root, and the others below
// it.
func loop(ctx context.Context, like tracetest.SpanStubs, turns int, b *batcher) {
	p := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(b), sdktrace.WithResource(like[0].Resource))
	tracer := p.Tracer(like[0].InstrumentationScope.Name, trace.WithInstrumentationVersion(like[0].InstrumentationScope.Version),
		trace.WithSchemaURL(like[0].InstrumentationScope.SchemaURL))
	for range turns {
		within, root := begun(ctx, tracer, &like[0])
		for i := range like[1:] {
			_, span := begun(within, tracer, &like[i+1])
			span.End(trace.WithTimestamp(like[i+1].EndTime))
		}
		root.End(trace.WithTimestamp(like[0].EndTime))
	}
}

func begun(ctx context.Context, tracer trace.Tracer, like *tracetest.SpanStub) (context.Context, trace.Span) {
	ctx, span := tracer.Start(ctx, like.Name, trace.WithSpanKind(like.SpanKind), trace.WithTimestamp(like.StartTime))
	span.SetAttributes(append([]attribute.KeyValue(nil), like.Attributes...)...)
	for _, e := range like.Events {
		span.AddEvent(e.Name, trace.WithTimestamp(e.Time), trace.WithAttributes(e.Attributes...))
	}
	span.SetStatus(like.Status.Code, like.Status.Description)
	return ctx, span
}

// batcher collects spans and sends them where they are made.
type batcher struct {
	ctx      context.Context //nolint:containedctx // The SDK gives OnEnd none.
	exporter sdktrace.SpanExporter
	size     int
	spans    []sdktrace.ReadOnlySpan
	requests int
	err      error
}

func (b *batcher) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

func (b *batcher) OnEnd(s sdktrace.ReadOnlySpan) {
	b.spans = append(b.spans, s)
	if len(b.spans) >= b.size {
		b.send(b.ctx)
	}
}

func (b *batcher) send(ctx context.Context) {
	if len(b.spans) == 0 || b.err != nil {
		return
	}
	b.err = b.exporter.ExportSpans(ctx, b.spans)
	b.requests++
	b.spans = b.spans[:0]
}

func (b *batcher) ForceFlush(ctx context.Context) error {
	b.send(ctx)
	return b.err
}

func (b *batcher) Shutdown(context.Context) error { return nil }
