package docs_test

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	colmetricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/testkit/golden"
	"github.com/hookspan/hookspan/internal/testkit/recorded"
	"github.com/hookspan/hookspan/internal/traces/sums"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/otelmap/instruments"
)

// group is a group of the registry in otelmap/registry, in the form of the semantic
// conventions.
type group struct {
	ID, Type, Name, Brief, Instrument, Unit string
	Metric                                  string `yaml:"metric_name"`
	Attributes                              []*attribute
}

type attribute struct {
	// ID is that of a definition, Ref the name of one elsewhere.
	ID, Ref, Type, Brief string
	Requirement          any `yaml:"requirement_level"`
	// Annotations has since and until, the versions of the conventions.
	Annotations struct{ Since, Until string }
}

// registry reads the groups and the definitions.
func registry(t *testing.T) (groups []group, defined map[string]*attribute) {
	t.Helper()
	defined = make(map[string]*attribute)
	for _, name := range []string{"attributes.yaml", "spans.yaml", "events.yaml", "metrics.yaml"} {
		b, err := os.ReadFile(filepath.Join(root, "otelmap", "registry", name))
		if err != nil {
			t.Fatal(err)
		}
		var file struct{ Groups []group }
		if err := yaml.Unmarshal(b, &file); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		groups = append(groups, file.Groups...)
	}
	for _, g := range groups {
		for _, a := range g.Attributes {
			if a.ID != "" {
				defined[a.ID] = a
			}
		}
	}
	return groups, defined
}

// TestSpansPageListsTheRegistry holds the lists on the page against the registry.
func TestSpansPageListsTheRegistry(t *testing.T) {
	groups, defined := registry(t)
	seen := make(map[string]bool)
	text := page(t, "docs/spans.md")
	want := text
	for _, g := range groups {
		if g.Type == "metric" || g.Type == "attribute_group" && g.ID != "hookspan.resource" {
			continue
		}
		from, to := "<!-- "+g.ID+" -->\n", "<!-- end -->"
		start := strings.Index(want, from)
		if start < 0 {
			t.Fatalf("docs/spans.md has no place for %s", g.ID)
		}
		start += len(from)
		end := start + strings.Index(want[start:], to)
		want = want[:start] + list(g, defined, seen) + want[end:]
	}
	if golden.Updating() {
		if err := os.WriteFile(filepath.Join(root, "docs", "spans.md"), []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want != text {
		t.Error("docs/spans.md is not what otelmap/registry says; run go -C tests test ./docs -run Registry -update")
	}
}

// list is a group's attributes as lines of the page. Neighbours that mean the same share
// a line, and so do, at the end, those that mean what they mean in a list before, in seen.
func list(g group, defined map[string]*attribute, seen map[string]bool) string {
	var b strings.Builder
	if g.Type == "event" {
		fmt.Fprintf(&b, "`%s`: %s\n\n", g.Name, g.Brief)
	}
	var names, repeated []string
	said := ""
	flush := func() {
		if len(names) > 0 {
			fmt.Fprintf(&b, "- %s: %s\n", strings.Join(names, ", "), said)
		}
		names = nil
	}
	for _, a := range g.Attributes {
		name, brief := "`"+a.Ref+"`", a.Brief
		if d := defined[a.Ref]; d != nil {
			brief = cmp.Or(brief, d.Brief)
		}
		if first := brief[:1]; !strings.HasPrefix(brief, "US ") && !strings.HasPrefix(brief, "MCP") {
			brief = strings.ToLower(first) + brief[1:]
		}
		switch {
		case a.Annotations.Since != "":
			brief += "; [latest names](#latest-names) only"
		case a.Annotations.Until != "":
			brief += "; [default names](#latest-names) only"
		}
		if seen[name+brief] {
			repeated = append(repeated, name)
			continue
		}
		if brief != said {
			flush()
		}
		seen[name+brief], said = true, brief
		names = append(names, name)
	}
	flush()
	if len(repeated) > 0 {
		fmt.Fprintf(&b, "- as above: %s\n", strings.Join(repeated, ", "))
	}
	return b.String()
}

// standardTypes are the types of the standard's attributes that are no strings.
func standardTypes(t *testing.T) map[string]string {
	t.Helper()
	types := map[string]string{
		"gen_ai.response.finish_reasons": "string[]", otelmap.KeyExitCode: "int",
	}
	for _, name := range conventions(t) {
		switch {
		case types[name] != "":
		case strings.HasPrefix(name, "gen_ai.usage."):
			types[name] = "int"
		default:
			types[name] = "string"
		}
	}
	return types
}

// TestRegistryHasEveryNameThatIsSent holds the recorded sessions, with either set of names,
// against the registry and the conventions of the version that each claims.
func TestRegistryHasEveryNameThatIsSent(t *testing.T) {
	c := newChecker(t)
	for _, m := range recorded.Spans(t) {
		c.check(m, false)
		c.check(otelmap.WithLatestNames(otelmap.WithUsageCost(m)), true)
	}
	for _, name := range slices.Sorted(maps.Keys(c.faults)) {
		t.Errorf("%s (%d times)", name, c.faults[name])
	}
	if c.spans < 900 {
		t.Errorf("only %d spans were checked", c.spans)
	}
}

// TestRegistryDefinesOrRefersToEveryConstant holds the registry against the keys in the
// source.
func TestRegistryDefinesOrRefersToEveryConstant(t *testing.T) {
	groups, defined := registry(t)
	for name := range defined {
		for parent := name; strings.Contains(parent, "."); {
			parent = parent[:strings.LastIndexByte(parent, '.')]
			if defined[parent] != nil {
				t.Errorf("%s is in the namespace of the attribute %s, which the conventions forbid", name, parent)
			}
		}
	}
	named := make(map[string]bool)
	for _, g := range groups {
		named[g.Name] = true
		for _, a := range g.Attributes {
			named[a.Ref] = true
		}
	}
	for _, file := range []string{"otelmap/names.go", "otelmap/latest.go"} {
		for constant, value := range constants(parseFile(t, file), conventions(t)) {
			if (strings.HasPrefix(constant, "Key") || strings.HasPrefix(constant, "Event")) && !named[value] {
				t.Errorf("%s: no span or event of the registry has %q", constant, value)
			}
		}
	}
}

// checker collects what spans have that they should not have, or lack.
type checker struct {
	groups           map[string]group
	defined          map[string]*attribute
	types            map[string]string
	standard, latest map[string]bool
	faults           map[string]int
	spans            int
}

func newChecker(t *testing.T) *checker {
	t.Helper()
	c := &checker{groups: map[string]group{}, types: standardTypes(t), standard: map[string]bool{}, latest: map[string]bool{}, faults: map[string]int{}}
	groups, defined := registry(t)
	c.defined = defined
	for _, g := range groups {
		c.groups[cmp.Or(g.Name, g.Metric, g.ID)] = g
	}
	for _, name := range conventions(t) {
		c.standard[name] = true
		if !strings.HasPrefix(name, "gen_ai.") {
			c.latest[name] = true
		}
	}
	b, err := os.ReadFile(filepath.Join("testdata", "genai-latest.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(b) {
		if name := strings.TrimSpace(string(line)); !strings.HasPrefix(name, "#") {
			c.latest[name] = true
		}
	}
	return c
}

func (c *checker) check(m *tracepb.ResourceSpans, latest bool) {
	c.attributes("hookspan.resource", m.GetResource().GetAttributes(), latest)
	for s := range otlp.Spans([]*tracepb.ResourceSpans{m}) {
		c.spans++
		kind := map[string]string{otelmap.OpChat: "request", otelmap.OpExecuteTool: "tool", otelmap.OpInvokeWorkflow: "tool", otelmap.OpInvokeAgent: "subagent"}[otlp.Text(s.Attributes, otelmap.KeyOperation)]
		if kind == "subagent" && otlp.Text(s.Attributes, otelmap.KeyOutcome) != "" {
			kind = "run"
		}
		c.attributes("span.hookspan."+kind, s.Attributes, latest)
		for _, e := range s.Events {
			c.attributes(e.GetName(), e.GetAttributes(), latest)
		}
	}
}

// attributes checks what a span, an event or a resource has.
func (c *checker) attributes(where string, have []*commonpb.KeyValue, latest bool) {
	g, ok := c.groups[where]
	if !ok {
		c.faults["the registry has no "+where]++
	}
	by := make(map[string]*attribute)
	for _, a := range g.Attributes {
		by[a.Ref] = a
		if a.Requirement == "required" && otlp.Find(have, a.Ref) == nil {
			c.faults[where+" lacks "+a.Ref]++
		}
	}
	version, sent := "default", c.standard
	if latest {
		version, sent = "latest", c.latest
	}
	for _, kv := range have {
		name := kv.GetKey()
		fault := func(what string) { c.faults[fmt.Sprintf("%s: %s %s by the %s names", where, name, what, version)]++ }
		a, d := by[name], c.defined[name]
		switch {
		case a == nil:
			fault("is not listed")
			continue
		case latest && a.Annotations.Until != "", !latest && a.Annotations.Since != "":
			fault("is sent")
		case !sent[name] && (d == nil || strings.HasPrefix(name, "gen_ai.") && name != otelmap.KeyUsageCost):
			fault("is not in the conventions")
		}
		kind := c.types[name]
		if d != nil {
			kind = d.Type
		}
		if got := typeOf(kv.GetValue()); got != kind {
			fault("is a " + got + ", not a " + kind)
		}
	}
}

func typeOf(v *commonpb.AnyValue) string {
	switch v.GetValue().(type) {
	case *commonpb.AnyValue_StringValue:
		return "string"
	case *commonpb.AnyValue_IntValue:
		return "int"
	case *commonpb.AnyValue_DoubleValue:
		return "double"
	case *commonpb.AnyValue_BoolValue:
		return "boolean"
	case *commonpb.AnyValue_ArrayValue:
		return "string[]"
	}
	return "something else"
}

// TestRegistryHasWhatAHookNamesOfItsProcess holds the resource's attributes against those that a
// CI and a run give it.
func TestRegistryHasWhatAHookNamesOfItsProcess(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(root, "config", "ci.txt"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{hook.KeyRun: true, otelmap.KeyRepositoryName: true}
	for line := range strings.Lines(string(b)) {
		if words := strings.Fields(line); len(words) > 2 && words[0] != "#" {
			names[words[0]] = true
		}
	}
	var have []*commonpb.KeyValue
	for name := range names {
		have = append(have, otlp.String(name, "x"))
	}
	c := newChecker(t)
	c.attributes("hookspan.resource", append(have, otlp.String(otelmap.KeyServiceName, "x")), false)
	if len(names) < 18 || len(c.faults) > 0 {
		t.Errorf("%d names: %v", len(names), c.faults)
	}
}

// TestRegistryHasEveryInstrument holds the metrics against the registry: what they are, and what
// their points have in the recorded sessions.
func TestRegistryHasEveryInstrument(t *testing.T) {
	c, counts := newChecker(t), make(sums.Counts)
	for _, m := range recorded.Spans(t) {
		for s := range otlp.Spans([]*tracepb.ResourceSpans{m}) {
			counts.Add(sums.Service(m), s, sums.Repository(m, s, nil)...)
		}
	}
	for s := range counts {
		counts[s.Overflowing()] = counts[s]
	}
	points := slices.Collect(func(yield func(sums.Point) bool) {
		for s, n := range counts {
			_ = yield(sums.Point{Series: s, Total: n})
		}
	})
	slices.SortFunc(points, func(x, y sums.Point) int {
		return cmp.Or(strings.Compare(x.Series.Service, y.Series.Service), strings.Compare(x.Series.Instrument, y.Series.Instrument))
	})
	form, sent := sums.Form{At: time.Unix(1, 0)}, make(map[string]bool)
	var request colmetricspb.ExportMetricsServiceRequest
	if err := proto.Unmarshal(append(form.Encode(points), sums.Test(form.At)...), &request); err != nil {
		t.Fatal(err)
	}
	for _, rm := range request.ResourceMetrics {
		c.attributes("hookspan.metrics.resource", rm.GetResource().GetAttributes(), false)
		for _, m := range rm.GetScopeMetrics()[0].GetMetrics() {
			sent[m.GetName()] = true
			kind := "gauge"
			for _, p := range m.GetSum().GetDataPoints() {
				kind = "counter"
				c.point(m.GetName(), p.GetAttributes())
			}
			for _, p := range m.GetHistogram().GetDataPoints() {
				kind = "histogram"
				c.point(m.GetName(), p.GetAttributes())
			}
			g := c.groups[m.GetName()]
			if got, want := [3]string{kind, m.GetUnit(), m.GetDescription()}, [3]string{g.Instrument, g.Unit, g.Brief}; got != want {
				t.Errorf("%s is %q, in the registry %q", m.GetName(), got, want)
			}
		}
	}
	for name, n := range c.faults {
		t.Errorf("%s (%d times)", name, n)
	}
	for i := range instruments.Table {
		if one := &instruments.Table[i]; !sent[one.Name] && c.groups[one.Name].Brief != one.Description {
			t.Errorf("%s: %+v", one.Name, c.groups[one.Name])
		}
	}
	if len(sent) < 10 {
		t.Errorf("only %d metrics: %v", len(sent), sent)
	}
}

// point checks what a point of a metric has. That of the overflow has nothing else.
func (c *checker) point(metric string, have []*commonpb.KeyValue) {
	if otlp.Find(have, instruments.Overflow) != nil {
		for _, a := range c.groups[metric].Attributes {
			if a.Requirement == "required" {
				have = append(have, otlp.String(a.Ref, ""))
			}
		}
	}
	c.attributes(metric, have, false)
}
