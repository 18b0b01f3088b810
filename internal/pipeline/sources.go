package pipeline

import (
	"context"
	"errors"
	"os"
	"runtime"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/agents"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/redact"
	"github.com/hookspan/hookspan/internal/transcript"
	"github.com/hookspan/hookspan/otelmap"
)

// source reads one agent's events and files. Of a session that went from folder to folder it
// leaves out what was done in those that are off, of which hooks record nothing. Missing files
// are no error. limits is NoteLimits.
func source(files *transcript.Files, a agents.Agent, off func(dir string) bool, limits func(host string, all []hook.Limit)) deliver.Source {
	query := func(session string, f deliver.Facts) transcript.Query {
		return transcript.Query{Session: session, Dialect: f.Dialect, Path: f.Transcript, Cwd: f.Cwd, Since: f.Since, Until: f.Until}
	}
	found := func(err error) error {
		if errors.Is(err, transcript.ErrNotFound) {
			return nil
		}
		return err
	}
	src := deliver.Source{
		Agent:  a.Mapping,
		Decode: a.Events,
		Transcript: func(ctx context.Context, session string, f deliver.Facts) (*hook.Transcript, error) {
			t, err := files.Read(ctx, a.Reader(), query(session, f))
			// In one folder, what hooks have recorded was there before the switch.
			if t != nil && len(t.Moves) > 0 && off != nil {
				t.Leave(off)
			}
			if t != nil && len(t.Limits) > 0 && limits != nil {
				limits(a.Host, t.Limits)
			}
			return t, found(err)
		},
	}
	if a.Transcript.Origin != nil {
		src.Origin = func(ctx context.Context, session string, f deliver.Facts) (string, string, error) {
			origin, turn, err := files.Origin(ctx, a.Transcript, query(session, f))
			return origin, turn, found(err)
		}
	}
	if a.Transcript.End != nil {
		src.End = func(ctx context.Context, session string, f deliver.Facts) (hook.Kind, time.Time, error) {
			kind, at, err := files.End(ctx, a.Transcript, query(session, f))
			return kind, at, found(err)
		}
	}
	return src
}

func (s *Setup) mapping(clean *redact.Redactor) otelmap.Options {
	o := otelmap.Options{
		ServiceName: s.Config.Service(), ScopeVersion: s.Version,
		Capture:  otelmap.Capture(s.Config.Capture),
		MaxInput: s.Config.MaxInput, MaxOutput: s.Config.MaxOutput,
		IdleTimeout: s.Config.IdleTimeout,
	}
	if clean != nil {
		o.Clean = clean.Preview
	}
	o.Resource = s.resource()
	return o
}

// resource returns what is known of the machine, merged by the SDK's rules with what the
// user says of it. It has no process.*: that would be the process that delivers.
func (s *Setup) resource() (out []*commonpb.KeyValue) {
	machine := []attribute.KeyValue{attribute.String(otelmap.KeyHostArch, runtime.GOARCH), attribute.String(otelmap.KeyOSType, s.GOOS)}
	if name, err := os.Hostname(); err == nil {
		machine = append(machine, attribute.String(otelmap.KeyHostName, name))
	}
	var user []attribute.KeyValue
	for _, kv := range s.Config.ResourceAttributes() {
		user = append(user, attribute.String(kv.Key, kv.Value))
	}
	of := func(a []attribute.KeyValue) *resource.Resource {
		return resource.NewWithAttributes(otelmap.SchemaURL, a...)
	}
	merged, _ := resource.Merge(of(machine), of(user)) // of one schema, so that they never conflict
	for _, kv := range merged.Attributes() {
		out = append(out, otlp.String(string(kv.Key), kv.Value.AsString()))
	}
	return out
}
