package pipeline

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/internal/agents"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/files/regular"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
)

// newSetup returns a setup in a new home folder, with the given environment
// variables.
func newSetup(t *testing.T, vars ...string) *Setup {
	t.Helper()
	home := t.TempDir()
	cfg, _ := config.Load(config.Input{
		Environ: append([]string{"HOME=" + home, "USERPROFILE=" + home}, vars...),
		Home:    home, GOOS: runtime.GOOS,
		ReadFile: func(path string) ([]byte, error) { return regular.Read(path, regular.Options{}) },
	})
	return &Setup{
		Config: cfg, Agents: agents.All(), Home: home, GOOS: runtime.GOOS, Version: "test",
		Getenv: func(string) string { return "" }, Log: func(line string) { t.Log(line) }, Now: time.Now,
		Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	}
}

func TestJudgeComparesTheEnvironments(t *testing.T) {
	terms := func(vars ...string) string {
		t, _ := newSetup(t, append(vars, "OTEL_SERVICE_NAME=a")...).Config.Terms()
		return t.String()
	}
	s := newSetup(t, "HOOKSPAN_CAPTURE=full", "OTEL_SERVICE_NAME=a")
	own, other := terms("HOOKSPAN_CAPTURE=full"), terms("HOOKSPAN_CAPTURE=none", "HOOKSPAN_EXPORTERS=otlp")
	for _, tt := range []struct {
		name, settings string
		byHand         bool
		capture        otelmap.Capture
		same           bool
	}{
		{"the same environment", own, false, otelmap.CaptureFull, true},
		{"less captured", terms("HOOKSPAN_CAPTURE=none", "CONNECTOR_MAX_INPUT_PREVIEW=7"), false, otelmap.CaptureNone, true},
		{"another project's", other, false, otelmap.CaptureNone, false},
		{"another project's, by hand", other, true, otelmap.CaptureNone, false},
		{"no variables", "preview/", false, otelmap.CapturePreview, false},
		{"no variables, by hand", "preview/", true, otelmap.CapturePreview, true},
		{"a record without settings", "", false, otelmap.CaptureFull, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s.ByHand = tt.byHand
			if got, here := s.judge(tt.settings); got.Capture != tt.capture || here != tt.same {
				t.Errorf("got %+v, %t; want %s, %t", got, here, tt.capture, tt.same)
			}
		})
	}
}

func TestRejectedTracesAreTriedAgainWithoutAStore(t *testing.T) {
	for exporters, keep := range map[string]bool{"otlp": true, "store,otlp": false} {
		p, err := newSetup(t, "HOOKSPAN_EXPORTERS="+exporters).Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if p.Deliverer.KeepRefused != keep {
			t.Errorf("%s: tried again %t, want %t", exporters, p.Deliverer.KeepRefused, keep)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestOpenFailsWithoutTheUsersRules(t *testing.T) {
	for _, v := range []string{"HOOKSPAN_REDACT_FILE=rules", "HOOKSPAN_CONFIG_FILE=my.env"} {
		name, _, _ := strings.Cut(v, "=")
		if p, err := newSetup(t, v).Open(t.Context()); err == nil {
			_ = p.Close()
			t.Errorf("%s: a delivery was set up", v)
		} else if !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v does not name it", v, err)
		}
	}
}

func TestTargetHoldsNoCredential(t *testing.T) {
	for in, want := range map[string]string{
		"http://localhost:4318/v1/traces":             "http://localhost:4318/v1/traces",
		"https://user:pw@h.example/v1/traces?key=abc": "https://h.example/v1/traces",
		"https://pw@[broken":                          "an endpoint that is no URL",
	} {
		if got := withoutCredentials(in); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

func TestTryRecordsNoAnswerWhenInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	answers := 0
	p := &Pipeline{setup: newSetup(t), Deliverer: &deliver.Deliverer{
		Now: time.Now, Answered: func(string, error) { answers++ },
	}}
	p.Try(ctx, deliver.Destination{Name: "otlp", Client: broken{errors.New("401")}}, nil, "")
	cancel()
	p.Try(ctx, deliver.Destination{Name: "otlp", Client: broken{context.Canceled}}, nil, "")
	if answers != 1 {
		t.Errorf("got %d answers, want the one from before the interruption", answers)
	}
}

// TestUsageCostGoesOutOnlyIfAsked sends a request and its run to a file.
func TestUsageCostGoesOutOnlyIfAsked(t *testing.T) {
	for _, asked := range []string{"true", "false"} {
		path := filepath.Join(t.TempDir(), "traces.jsonl")
		s := newSetup(t, "HOOKSPAN_USAGE_COST="+asked, "HOOKSPAN_FILE_PATH="+path)
		c, err := s.client(t.Context(), config.ExporterFile)
		if err != nil {
			t.Fatal(err)
		}
		message := &tracepb.ResourceSpans{ScopeSpans: []*tracepb.ScopeSpans{{}}}
		for _, op := range []string{otelmap.OpChat, otelmap.OpInvokeAgent} {
			message.ScopeSpans[0].Spans = append(message.ScopeSpans[0].Spans, &tracepb.Span{
				TraceId: make([]byte, 16), SpanId: make([]byte, 8),
				Attributes: []*commonpb.KeyValue{otlp.String(otelmap.KeyOperation, op), otlp.Float(otelmap.KeyCost, 0.5)},
			})
		}
		if err := c.UploadTraces(t.Context(), []*tracepb.ResourceSpans{message}); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if n := strings.Count(string(b), otelmap.KeyUsageCost); err != nil || n != map[string]int{"true": 1, "false": 0}[asked] {
			t.Errorf("asked %s: %d costs, %v", asked, n, err)
		}
		if len(message.ScopeSpans[0].Spans[0].Attributes) != 2 {
			t.Error("the message was changed")
		}
	}
}

// TestLatestNamesGoToTheFileAndNeverBothNames sends a request with each choice of names.
func TestLatestNamesGoToTheFileAndNeverBothNames(t *testing.T) {
	for value, want := range map[string][2]int{"": {1, 0}, "gen_ai_latest_experimental": {0, 1}} {
		path := filepath.Join(t.TempDir(), "traces.jsonl")
		s := newSetup(t, "OTEL_SEMCONV_STABILITY_OPT_IN="+value, "HOOKSPAN_FILE_PATH="+path, "HOOKSPAN_USAGE_COST=true")
		c, err := s.client(t.Context(), config.ExporterFile)
		if err != nil {
			t.Fatal(err)
		}
		message := &tracepb.ResourceSpans{ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{{
			TraceId: make([]byte, 16), SpanId: make([]byte, 8), Attributes: []*commonpb.KeyValue{
				otlp.String(otelmap.KeyOperation, otelmap.OpChat), otlp.Int(otelmap.KeyCacheWriteTokens, 7), otlp.Float(otelmap.KeyCost, 0.5),
			},
		}}}}}
		if err := c.UploadTraces(t.Context(), []*tracepb.ResourceSpans{message}); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path)
		got := [2]int{strings.Count(string(b), otelmap.KeyCacheWriteTokens), strings.Count(string(b), otelmap.KeyLatestCacheWrite)}
		if err != nil || got != want || !strings.Contains(string(b), otelmap.KeyUsageCost) {
			t.Errorf("%q: default and latest name %v, want %v, and the cost: %v\n%s", value, got, want, err, b)
		}
	}
}

// TestLimitsBoundOTLPAlone asks for spans of one attribute, with the limit in each place.
func TestLimitsBoundOTLPAlone(t *testing.T) {
	const limit = "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT=1"
	for _, own := range []bool{true, false} {
		s := newSetup(t)
		in := config.Input{Home: s.Home, GOOS: "linux", Environ: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318", "HOOKSPAN_FILE_PATH=/t.jsonl", limit}}
		if own {
			in.ReadFile = func(string) ([]byte, error) { return []byte(limit + "\n"), nil }
		}
		s.Config, _ = config.Load(in)
		for _, name := range []string{config.ExporterOTLP, config.ExporterFile} {
			c, err := s.client(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			_, bounded := c.(changed)
			if bounded != (own && name == config.ExporterOTLP) {
				t.Errorf("limits in the env file %v: %s is bounded: %v", own, name, bounded)
			}
		}
	}
	l := limits(config.Limits{Attributes: 5, Length: 9, SpanAttributes: 1, SpanLength: -1, Events: 2, Links: 3, EventAttributes: -1, LinkAttributes: 4})
	if want := (otelmap.Limits{Attributes: 1, EventAttributes: 5, LinkAttributes: 4, Events: 2, Links: 3, Length: 9, OtherLength: 9}); l != want {
		t.Errorf("got %+v, want %+v", l, want)
	}
}

func TestResourceIsTheMachinesAndTheUsers(t *testing.T) {
	s := newSetup(t, "OTEL_RESOURCE_ATTRIBUTES=host.name=build-7,team.id=a,empty=,team.id=core%2Cinfra")
	got := map[string]string{}
	var keys []string
	for _, kv := range s.resource() {
		got[kv.Key] = kv.GetValue().GetStringValue()
		keys = append(keys, kv.Key)
	}
	want := map[string]string{"host.name": "build-7", "host.arch": runtime.GOARCH, "os.type": runtime.GOOS, "team.id": "core,infra", "empty": ""}
	if !maps.Equal(got, want) || len(keys) != len(want) || !slices.IsSorted(keys) {
		t.Errorf("got %v in the order %v, want %v", got, keys, want)
	}
}
