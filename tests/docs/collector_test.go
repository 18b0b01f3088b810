package docs_test

import (
	"regexp"
	"strings"
	"testing"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
)

// TestCollectorReadsNamesOfTheRegistry holds what the gateway and ClickHouse read of spans
// against the registry.
func TestCollectorReadsNamesOfTheRegistry(t *testing.T) {
	_, defined := registry(t)
	read := 0
	for _, path := range []string{"collector-config/clickhouse/tables.sql", "collector-config/gateway.yaml"} {
		for _, m := range regexp.MustCompile(`(?:\['|\["|key: )(hookspan\.[a-z_.]+)`).FindAllStringSubmatch(page(t, path), -1) {
			if read++; defined[m[1]] == nil {
				t.Errorf("%s reads %q, which the registry does not have", path, m[1])
			}
		}
	}
	if read < 8 {
		t.Errorf("only %d names were found", read)
	}
}

// TestGatewayWithoutTextsKeepsWhatCaptureNoneKeeps holds notext.yaml against
// what HOOKSPAN_CAPTURE=none keeps, for each attribute of the registry.
func TestGatewayWithoutTextsKeepsWhatCaptureNoneKeeps(t *testing.T) {
	passes := map[string]*regexp.Regexp{}
	for _, m := range regexp.MustCompile(`keep_matching_keys\((\w+)\.attributes, "(.*)"\)`).FindAllStringSubmatch(page(t, "collector-config/notext.yaml"), -1) {
		passes[m[1]] = regexp.MustCompile(strings.NewReplacer(`\\`, `\`, "$$", "$").Replace(m[2]))
	}
	groups, defined := registry(t)
	standard := standardTypes(t)
	checked := 0
	for _, g := range groups {
		pass := passes[map[string]string{"span": "span", "event": "spanevent"}[g.Type]]
		if pass == nil {
			continue // definitions
		}
		for _, a := range g.Attributes {
			kind := standard[a.Ref]
			if d := defined[a.Ref]; d != nil {
				kind = d.Type
			}
			kv := otlp.String(a.Ref, "x")
			if kind == "int" || kind == "double" || kind == "boolean" {
				kv = otlp.Int(a.Ref, 1)
			}
			checked++
			if kept := keptWithoutTexts(kv); kept != pass.MatchString(a.Ref) {
				t.Errorf("%s of a %s (%s): HOOKSPAN_CAPTURE=none keeps it: %v; notext.yaml: %v", a.Ref, g.Type, kind, kept, !kept)
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d attributes were checked", checked)
	}
}

// textless leaves out what a gateway cannot tell from texts, too: the servers of MCP calls,
// which may be from a call's input.
var textless = otelmap.Options{Capture: otelmap.CaptureNone, Agent: otelmap.Traits{MCPServer: func(string, string) string { return "-" }}}

func keptWithoutTexts(kv *commonpb.KeyValue) bool {
	m := &tracepb.ResourceSpans{ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{{Attributes: []*commonpb.KeyValue{kv}}}}}}
	return len(textless.Narrow(m).ScopeSpans[0].Spans[0].Attributes) == 1
}
