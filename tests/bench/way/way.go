// Package way takes events along the way of a delivery inside this process, the
// whole of it or one stage alone, so that each can be measured and profiled.
//
// It is set up as `hookspan flush` is without any settings: texts cut to previews,
// secrets removed twice, from each text as it comes and from the finished spans.
package way

import (
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/claude"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/redact"
	"github.com/hookspan/hookspan/internal/redact/redactspans"
	"github.com/hookspan/hookspan/internal/testkit/agentstest"
	"github.com/hookspan/hookspan/internal/testkit/otlpstub"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
	"github.com/hookspan/hookspan/tests/bench/backlog"
)

// Mapping are the options of the mapping.
func Mapping(clean *redact.Redactor) otelmap.Options {
	o := otelmap.Options{
		ScopeVersion: "v0.0.0",
		Resource: []*commonpb.KeyValue{
			otlp.String(otelmap.KeyHostName, "laptop"), otlp.String(otelmap.KeyHostArch, "amd64"),
			otlp.String(otelmap.KeyOSType, "linux"),
		},
	}
	if clean != nil {
		o.Clean = func(s string, limit int) string {
			if limit <= 0 {
				return clean.String(s)
			}
			return clean.Preview(s, limit)
		}
	}
	return o
}

// Sources decode the events of every host and know none of their files.
func Sources() map[string]deliver.Source {
	return map[string]deliver.Source{
		hook.HostClaude: {Agent: agentstest.Mapping(hook.HostClaude), Decode: func(r *spool.Record) ([]hook.Event, error) { return claude.Decode(raw(r)) }},
		hook.HostCline:  {Agent: agentstest.Mapping(hook.HostCline), Decode: func(r *spool.Record) ([]hook.Event, error) { return cline.Decode(raw(r)) }},
	}
}

func raw(r *spool.Record) hook.Raw {
	return hook.Raw{Payload: r.Payload, Event: r.Event, StoredAt: r.At, Offset: r.Offset, Cwd: r.Cwd, TraceParent: r.TraceParent}
}

// Judge reads a record's settings as a delivery by hand does.
func Judge(settings string) (t deliver.Terms, here bool) {
	level, fingerprint, _ := strings.Cut(settings, "/")
	return deliver.Terms{Capture: otelmap.Capture(level)}, fingerprint == ""
}

// Turn are the spans of one turn of classic Cline with that many events, the
// root first.
func Turn(events int) (tracetest.SpanStubs, error) {
	s := backlog.Session{Dialect: backlog.Classic, Turns: 1, Turn: events, End: time.Now().Add(-time.Minute)}
	clean := redact.New(nil)
	b := otelmap.NewBuilder(s.Key().Host, s.ID(), Mapping(clean), otelmap.Carry{})
	offset := int64(0)
	for rec := range s.Records() {
		rec.Offset = offset
		offset++
		got, err := cline.Decode(raw(rec))
		if err != nil {
			return nil, err
		}
		for _, e := range got {
			b.Add(e)
		}
	}
	runs := b.Runs(time.Now())
	if len(runs) != 1 {
		return nil, fmt.Errorf("a turn of %d events gave %d runs, want one", events, len(runs))
	}
	return otlpstub.Stubs(redactspans.Clean(clean, b.Spans(runs[0], nil))), nil
}
