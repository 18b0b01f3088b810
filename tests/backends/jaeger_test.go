package backends

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
)

// startJaeger starts Jaeger, which keeps traces in memory, and returns where it takes OTLP
// and where its API is.
func startJaeger(t *testing.T) (to endpoint, api string) {
	t.Helper()
	dir := t.TempDir()
	program, err := build(t.Context(), "jaeger", "github.com/jaegertracing/jaeger/cmd/all-in-one", dir)
	if err != nil {
		t.Fatal(err)
	}
	at := addresses(t, 7)
	start(t, dir, "http://"+at[1]+"/", nil, program,
		"--collector.otlp.http.host-port="+at[0], "--admin.http.host-port="+at[1], "--query.http-server.host-port="+at[2],
		"--query.grpc-server.host-port="+at[3], "--collector.otlp.grpc.host-port="+at[4], "--collector.grpc-server.host-port="+at[5],
		"--collector.http-server.host-port="+at[6], "--memory.max-traces=1000")
	return endpoint{url: "http://" + at[0]}, "http://" + at[2]
}

// jaegerSpan is a span as Jaeger shows it.
type jaegerSpan struct {
	SpanID, OperationName string
	References            []struct{ RefType, TraceID, SpanID string }
	Tags                  []struct {
		Key   string
		Value any
	}
	Logs []any
}

// askJaeger returns the spans of a trace.
func askJaeger(ctx context.Context, api, trace string) (map[string]jaegerSpan, error) {
	var answer struct {
		Data []struct{ Spans []jaegerSpan }
	}
	if err := ask(ctx, http.MethodGet, api+"/api/traces/"+trace, nil, &answer); err != nil {
		return nil, err
	}
	spans := make(map[string]jaegerSpan)
	for _, t := range answer.Data {
		for _, s := range t.Spans {
			if _, twice := spans[s.SpanID]; twice {
				return nil, fmt.Errorf("span %s of trace %s is there twice", s.SpanID, trace)
			}
			spans[s.SpanID] = s
		}
	}
	return spans, nil
}

func TestJaegerShowsEveryTrace(t *testing.T) {
	asked(t)
	to, api := startJaeger(t)
	from := newSender(t)
	from.export(t, to)
	checkJaeger(t, api, from.spans)
	from.export(t, to)
	checkJaeger(t, api, append(slices.Clone(from.spans), from.test(t, to)...))
}

// checkJaeger holds all that Jaeger has against what was sent. It stores spans after its
// answer, so the last trace is waited for.
func checkJaeger(t *testing.T, api string, spans []*tracepb.Span) {
	t.Helper()
	byTrace := make(map[string][]*tracepb.Span)
	for _, s := range spans {
		byTrace[otlp.TraceID(s)] = append(byTrace[otlp.TraceID(s)], s)
	}
	for trace, want := range byTrace {
		var got map[string]jaegerSpan
		await(t, "trace in Jaeger", func(ctx context.Context) (err error) {
			if got, err = askJaeger(ctx, api, trace); err == nil && len(got) < len(want) {
				err = fmt.Errorf("found %d spans of trace %s, want %d", len(got), trace, len(want))
			}
			return err
		})
		if len(got) != len(want) {
			t.Errorf("Jaeger has %d spans of trace %s, want %d", len(got), trace, len(want))
		}
		for _, s := range want {
			checkJaegerSpan(t, s, got[otlp.SpanID(s)])
		}
	}
}

// checkJaegerSpan holds a span against what Jaeger shows of it.
func checkJaegerSpan(t *testing.T, s *tracepb.Span, got jaegerSpan) {
	t.Helper()
	same(t, s, "name", got.OperationName, s.Name)
	same(t, s, "events", len(got.Logs), len(s.Events))
	parents, links := "", 0
	for _, r := range got.References {
		if r.RefType == "CHILD_OF" {
			parents += r.SpanID
		} else {
			links++
		}
	}
	same(t, s, "parent", parents, otlp.ParentID(s))
	same(t, s, "links", links, len(s.Links))
	tags := make(map[string]any)
	for _, tag := range got.Tags {
		tags[tag.Key] = tag.Value
	}
	for _, a := range s.Attributes {
		if _, ok := tags[a.Key]; !ok {
			t.Errorf("%s %s has no tag %s", s.Name, got.SpanID, a.Key)
		}
	}
	for _, key := range []string{otelmap.KeyInputMessages, otelmap.KeyOutputMessages, otelmap.KeyToolArguments} {
		text, _ := tags[key].(string)
		same(t, s, key, text, otlp.Text(s.Attributes, key))
	}
}
