package collector_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/testkit/otlptest"
	"github.com/hookspan/hookspan/internal/testkit/recorded"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/internal/lab"
)

// boardTally is what spans add up to, by the panel that is to show it and, where the
// panel has several lines, by the line.
type boardTally map[string]map[string]float64

func (t boardTally) add(panel, line string, v float64) {
	if t[panel] == nil {
		t[panel] = map[string]float64{}
	}
	t[panel][line] += v
}

func spanAttributes(kvs []*commonpb.KeyValue) map[string]*commonpb.AnyValue {
	out := map[string]*commonpb.AnyValue{}
	for _, kv := range kvs {
		out[kv.GetKey()] = kv.GetValue()
	}
	return out
}

// boardTallied reckons by the words of docs/spans.md.
func boardTallied(spans []otlptest.Span) boardTally {
	t := boardTally{}
	for i := range spans {
		a := spanAttributes(spans[i].Proto.GetAttributes())
		agent := spanAttributes(spans[i].Resource.GetAttributes())["service.name"].GetStringValue()
		failed := a["error.type"].GetStringValue()
		in, out := float64(a["gen_ai.usage.input_tokens"].GetIntValue()), float64(a["gen_ai.usage.output_tokens"].GetIntValue())
		t.add("spans", "", 1)
		switch {
		case a["hookspan.outcome"] != nil:
			t.add("runs", "", 1)
			t.add("outcomes", a["hookspan.outcome"].GetStringValue(), 1)
			t.add("runs by agent", agent, 1)
			t.add("runs by team", spanAttributes(spans[i].Resource.GetAttributes())["team.id"].GetStringValue(), 1)
			t.add("runs by repository", a["vcs.repository.name"].GetStringValue(), 1)
			t.add("run tokens", "", in+out+float64(a["hookspan.usage.input_tokens"].GetIntValue()+a["hookspan.usage.output_tokens"].GetIntValue()))
			t.add("run cost", "", a["hookspan.cost.usd"].GetDoubleValue())
			if a["hookspan.cost.usd"] != nil {
				t.add("run cost by agent", agent, a["hookspan.cost.usd"].GetDoubleValue())
			}
		case a["gen_ai.operation.name"].GetStringValue() == "execute_tool":
			tool := a["gen_ai.tool.name"].GetStringValue()
			t.add("calls", "", 1)
			t.add("tools", tool, 1)
			t.add("failed tools", tool, 0)
			// What was denied or cancelled has not failed, as in hookspan stats.
			if failed != "" && failed != otelmap.ErrorToolDenied && failed != otelmap.ErrorToolCancelled {
				t.add("failed", "", 1)
				t.add("failed tools", tool, 1)
				t.add("errors", tool+": "+failed, 1)
			}
		case a["gen_ai.operation.name"].GetStringValue() == "chat":
			model := a["gen_ai.request.model"].GetStringValue()
			t.add("requests", model, 1)
			t.add("failed requests", model, 0)
			if failed != "" {
				t.add("failed requests", model, 1)
			}
			read, written := float64(a["gen_ai.usage.cache_read.input_tokens"].GetIntValue()), float64(a["gen_ai.usage.cache_creation.input_tokens"].GetIntValue())
			t.add("tokens", "input, not cached", in-read-written)
			t.add("tokens", "cache read", read)
			t.add("tokens", "cache write", written)
			t.add("tokens", "output", out)
			if a["gen_ai.usage.input_tokens"] != nil || a["gen_ai.usage.output_tokens"] != nil {
				t.add("tokens by model", model, in+out)
				t.add("tokens in", model, in)
				t.add("tokens out", model, out)
			}
			if a["hookspan.cost.usd"] != nil {
				t.add("cost by model", model, a["hookspan.cost.usd"].GetDoubleValue())
			}
		}
	}
	return t
}

// boardShown says which query of which panel has to show which tally. A panel with a
// time axis shows it in parts that add up.
var boardShown = []struct {
	panel, ref, tally string
	// line names a line of the answer by its labels, in their order.
	labels []string
	// as is the tally's line where the query itself is one.
	as string
}{
	{panel: "Runs", tally: "runs"},
	{panel: "Tool calls", tally: "calls"},
	{panel: "Tokens", tally: "run tokens"},
	{panel: "Cost", tally: "run cost"},
	{panel: "Runs by outcome", tally: "outcomes", labels: []string{"hookspan_outcome"}},
	{panel: "Teams", ref: "A", tally: "runs by team", labels: []string{"team_id"}},
	{panel: "Repositories", ref: "A", tally: "runs by repository", labels: []string{"vcs_repository_name"}},
	{panel: "Tools", ref: "A", tally: "tools", labels: []string{"gen_ai_tool_name"}},
	{panel: "Tools", ref: "B", tally: "failed tools", labels: []string{"gen_ai_tool_name"}},
	{panel: "Tool calls by tool", tally: "tools", labels: []string{"gen_ai_tool_name"}},
	{panel: "Failed tool calls", tally: "errors", labels: []string{"gen_ai_tool_name", "error_type"}},
	{panel: "Tokens a day", ref: "A", tally: "tokens", as: "input, not cached"},
	{panel: "Tokens a day", ref: "B", tally: "tokens", as: "cache read"},
	{panel: "Tokens a day", ref: "C", tally: "tokens", as: "cache write"},
	{panel: "Tokens a day", ref: "D", tally: "tokens", as: "output"},
	{panel: "Tokens by model and day", tally: "tokens by model", labels: []string{"gen_ai_request_model"}},
	{panel: "Cost by model and day", tally: "cost by model", labels: []string{"gen_ai_request_model"}},
	{panel: "Models", ref: "A", tally: "requests", labels: []string{"gen_ai_request_model"}},
	{panel: "Models", ref: "B", tally: "failed requests", labels: []string{"gen_ai_request_model"}},
	{panel: "Models", ref: "C", tally: "tokens in", labels: []string{"gen_ai_request_model"}},
	{panel: "Models", ref: "E", tally: "tokens out", labels: []string{"gen_ai_request_model"}},
	{panel: "Models", ref: "F", tally: "cost by model", labels: []string{"gen_ai_request_model"}},
}

// lines asks one query of a panel and adds up each line of the answer.
func (o *observed) lines(p *boardPanel, q *boardTarget, window time.Duration, labels []string) (map[string]float64, error) {
	out := map[string]float64{}
	name := func(s *promLine) string {
		var parts []string
		for _, l := range labels {
			parts = append(parts, s.Labels[l])
		}
		return strings.Join(parts, ": ")
	}
	if q.Instant {
		all, err := o.instant(q.Expr, window)
		for i := range all {
			out[name(&all[i])] += all[i].last()
		}
		return out, err
	}
	all, err := o.stepped(p, q)
	for i := range all {
		out[name(&all[i])] += all[i].sum()
	}
	return out, err
}

// stepped asks a query with a time axis from before the first span until now.
func (o *observed) stepped(p *boardPanel, q *boardTarget) ([]promLine, error) {
	now := time.Now()
	if p.Interval == "1d" {
		return o.over(q.Expr, now.Add(-13*24*time.Hour), now, 24*time.Hour)
	}
	// The step behind the next full one holds what came last.
	const step = 4 * time.Second
	return o.over(q.Expr, o.began.Add(-2*step), now.Add(step), step)
}

// TestDashboardShowsWhatTheSpansSay runs recorded sessions through two gateways
// into a Prometheus and asks it every query of the dashboard.
func TestDashboardShowsWhatTheSpansSay(t *testing.T) {
	d, _ := readDashboard(t)
	o := observeGateways(t)

	var sent []otlptest.Span
	var again [][]byte
	for i, s := range recorded.Sessions() {
		// One trace to a request, so that what is refused is refused whole. Each
		// session is of another machine, which must not come between its numbers.
		for _, trace := range boardTraces(t, recorded.JSON(t, s.Name()), "machine-"+strconv.Itoa(i)) {
			o.send(i%2, trace)
			sent = append(sent, lab.Decode(t, trace)...)
			again = append(again, trace)
		}
	}
	// It is one of the recordings: its spans come again, under their ids, and count once.
	if spans := o.deliver(0); len(spans) == 0 || !slices.ContainsFunc(sent, func(s otlptest.Span) bool { return s.ID == spans[0].ID }) {
		t.Errorf("%d spans were delivered, want those of a recording", len(spans))
	}
	want := boardTallied(sent)

	t.Run("values", func(t *testing.T) { o.holdsValues(t, &d, want) })
	t.Run("every query answers", func(t *testing.T) { o.holdsAnswers(t, &d) })
	t.Run("shares", func(t *testing.T) { o.holdsShares(t, &d, want) })
	t.Run("quantiles", func(t *testing.T) { o.holdsQuantiles(t, &d, sent) })
	t.Run("two gateways", func(t *testing.T) { o.holdsGateways(t, &d, want) })
	t.Run("variables", func(t *testing.T) { o.holdsVariables(t, &d, want) })
	t.Run("a machine", func(t *testing.T) {
		o.source = ofMachines
		defer func() { o.source = ofGateways }()
		lab.NewCounted(t, o.machines, "OTEL_RESOURCE_ATTRIBUTES=team.id=core").Count(recorded.Sessions(), func(m *tracepb.ResourceSpans, i int) {
			for s := range otlp.Spans([]*tracepb.ResourceSpans{m}) {
				if otlp.Find(s.GetAttributes(), otelmap.KeyOutcome) != nil {
					s.Attributes = append(s.Attributes, otlp.String("vcs.repository.name", fmt.Sprint("repository ", i%10)))
				}
			}
		})
		want := maps.Clone(want)
		want["runs by team"] = map[string]float64{"core": want["runs"][""]}
		o.holdsValues(t, &d, want)
		o.holdsVariables(t, &d, want)
	})
	t.Run("a new start", func(t *testing.T) {
		for _, g := range o.gateways {
			if err := g.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		o.start()
		// Totals continue, and a span that comes again does not count.
		for i, doc := range again {
			o.send(i%2, doc)
			doc = anyTrace.ReplaceAll(doc, []byte(`"traceId":"ffffffff`))
			o.send(i%2, doc)
			sent = append(sent, lab.Decode(t, doc)...)
		}
		o.holdsValues(t, &d, boardTallied(sent))
	})
}

// boardTraces takes OTLP/JSON documents apart, and names the machine.
func boardTraces(t *testing.T, doc []byte, machine string) [][]byte {
	t.Helper()
	type scope struct {
		Scope json.RawMessage  `json:"scope"`
		Spans []map[string]any `json:"spans"`
	}
	type resource struct {
		Resource struct {
			Attributes []any `json:"attributes"`
		} `json:"resource"`
		ScopeSpans []scope `json:"scopeSpans"`
	}
	var all []resource
	for dec := json.NewDecoder(bytes.NewReader(doc)); dec.More(); {
		var one struct {
			ResourceSpans []resource `json:"resourceSpans"`
		}
		if err := dec.Decode(&one); err != nil {
			t.Fatal(err)
		}
		all = append(all, one.ResourceSpans...)
	}
	parts := map[any][]resource{}
	for _, r := range all {
		attribute := func(key, value string) any {
			return map[string]any{"key": key, "value": map[string]any{"stringValue": value}}
		}
		r.Resource.Attributes = append(r.Resource.Attributes, attribute("host.name", machine), attribute("team.id", "team "+machine[len(machine)-1:]))
		for _, s := range r.ScopeSpans {
			for _, span := range s.Spans {
				if attributes, _ := span["attributes"].([]any); slices.ContainsFunc(attributes, isOutcome) {
					span["attributes"] = append(attributes, attribute("vcs.repository.name", "repository "+machine[len(machine)-1:]))
				}
				part := resource{Resource: r.Resource, ScopeSpans: []scope{{s.Scope, []map[string]any{span}}}}
				parts[span["traceId"]] = append(parts[span["traceId"]], part)
			}
		}
	}
	var out [][]byte
	for _, p := range parts {
		b, err := json.Marshal(map[string]any{"resourceSpans": p})
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b)
	}
	return out
}

var anyTrace = regexp.MustCompile(`"traceId":"[0-9a-f]{8}`)

func isOutcome(attribute any) bool {
	m, _ := attribute.(map[string]any)
	return m["key"] == "hookspan.outcome"
}

func (d *dashboard) find(t *testing.T, panel, ref string) (*boardPanel, *boardTarget) {
	t.Helper()
	for i := range d.Panels {
		p := &d.Panels[i]
		if p.Title != panel {
			continue
		}
		for j := range p.Targets {
			if ref == "" || p.Targets[j].RefID == ref {
				return p, &p.Targets[j]
			}
		}
	}
	t.Fatalf("the dashboard has no panel %q with a query %q", panel, ref)
	return nil, nil
}

// boardNear holds sums of floats against one another, and sums of counts exactly.
var boardNear = cmpopts.EquateApprox(1e-9, 0)

// holdsValues waits until each panel shows what the spans say. It cannot be said
// when a scrape has brought the last of it, only that one has to.
func (o *observed) holdsValues(t *testing.T, d *dashboard, want boardTally) {
	deadline := time.Now().Add(20 * time.Second)
	for _, s := range boardShown {
		p, q := d.find(t, s.panel, s.ref)
		expected := want[s.tally]
		if s.as != "" {
			expected = map[string]float64{"": expected[s.as]}
		}
		if len(expected) == 0 {
			t.Errorf("%v: the sessions say nothing of %s", p, s.tally)
		}
		var diff string
		if !until(t.Context(), time.Until(deadline), func() bool {
			got, err := o.lines(p, q, time.Hour, s.labels)
			diff = gocmp.Diff(expected, got, boardNear)
			if err != nil {
				diff = err.Error()
			}
			return diff == ""
		}) {
			t.Errorf("%v, query %s differs from the spans (-spans +panel):\n%s", p, q.RefID, diff)
		}
	}
}

// holdsAnswers asks everything once: no query may be refused or come back empty.
func (o *observed) holdsAnswers(t *testing.T, d *dashboard) {
	asked := 0
	for _, p := range d.charts() {
		for i := range p.Targets {
			q := &p.Targets[i]
			var got []promLine
			var err error
			if q.Instant {
				got, err = o.instant(q.Expr, time.Hour)
			} else {
				got, err = o.stepped(&p, q)
			}
			points := 0
			for j := range got {
				points += len(got[j].Values)
				if q.Instant {
					points++
				}
			}
			if err != nil || points == 0 {
				t.Errorf("%v, query %s: %d lines, %d values, %v\n%s", &p, q.RefID, len(got), points, err, q.Expr)
			}
			asked++
		}
	}
	t.Logf("%d queries answered", asked)
}

// holdsShares holds panels that divide against the same division here.
func (o *observed) holdsShares(t *testing.T, d *dashboard, want boardTally) {
	for _, s := range []struct {
		panel string
		want  float64
	}{
		{"Runs completed", want["outcomes"]["completed"] / want["runs"][""]},
		{"Tool calls failed", want["failed"][""] / want["calls"][""]},
		{"Cost per run", want["run cost"][""] / want["runs"][""]},
		{"Gateways up", 2},
	} {
		p, q := d.find(t, s.panel, "")
		got, err := o.lines(p, q, time.Hour, nil)
		if diff := gocmp.Diff(map[string]float64{"": s.want}, got, boardNear); diff != "" || err != nil {
			t.Errorf("%v: %v (-spans +panel):\n%s", p, err, diff)
		}
	}
	wanted := map[string]float64{}
	for agent, cost := range want["run cost by agent"] {
		wanted[agent] = cost / want["runs by agent"][agent]
	}
	p, q := d.find(t, "Cost per run and day", "")
	got, err := o.lines(p, q, time.Hour, []string{"job"})
	if diff := gocmp.Diff(wanted, got, boardNear); diff != "" || err != nil {
		t.Errorf("%v: %v (-spans +panel):\n%s", p, err, diff)
	}
}

// holdsQuantiles finds the call that each quantile is about, and holds the value
// against the bounds of the bucket that the call falls into.
func (o *observed) holdsQuantiles(t *testing.T, d *dashboard, sent []otlptest.Span) {
	durations := map[string][]float64{}
	for i := range sent {
		a := spanAttributes(sent[i].Proto.GetAttributes())
		if a["gen_ai.operation.name"].GetStringValue() == "execute_tool" {
			tool := a["gen_ai.tool.name"].GetStringValue()
			took := sent[i].Proto.GetEndTimeUnixNano() - sent[i].Proto.GetStartTimeUnixNano()
			durations[tool] = append(durations[tool], float64(took)/1e9)
		}
	}
	var bounds []float64
	var labels []string
	if err := o.ask(t.Context(), "label/le/values", map[string][]string{"match[]": {"agent_duration_seconds_bucket"}}, &labels); err != nil {
		t.Fatal(err)
	}
	for _, l := range labels {
		f, err := strconv.ParseFloat(l, 64)
		if err != nil {
			t.Fatal(err)
		}
		bounds = append(bounds, f)
	}
	sort.Float64s(bounds)
	for ref, quantile := range map[string]float64{"D": 0.5, "E": 0.95, "F": 0.99} {
		p, q := d.find(t, "Tools", ref)
		got, err := o.lines(p, q, time.Hour, []string{"gen_ai_tool_name"})
		if err != nil || len(got) != len(durations) {
			t.Errorf("%v, query %s: %v, %d tools, want %d", p, ref, err, len(got), len(durations))
		}
		for tool, all := range durations {
			sort.Float64s(all)
			call := all[max(0, int(math.Ceil(quantile*float64(len(all))))-1)]
			i := sort.SearchFloat64s(bounds, call)
			low := 0.0
			if i > 0 {
				low = bounds[i-1]
			}
			if v := got[tool]; v < low || v > bounds[i] {
				t.Errorf("%v, p%g of %s is %g; the call took %g, which is between %g and %g", p, 100*quantile, tool, v, call, low, bounds[i])
			}
		}
	}
}

// holdsGateways makes sure that both had a share, and that the shares add up.
func (o *observed) holdsGateways(t *testing.T, d *dashboard, want boardTally) {
	p, q := d.find(t, "Spans measured", "")
	got, err := o.lines(p, q, time.Hour, []string{"instance"})
	sum := 0.0
	for _, v := range got {
		sum += v
	}
	if err != nil || len(got) != 2 || got[o.targets[0]] <= 0 || got[o.targets[1]] <= 0 || sum != want["spans"][""] {
		t.Errorf("%v: %v, %v; want a share for each of %v, %v together", p, err, got, o.targets, want["spans"][""])
	}
}

// named are the lines that have a name.
func named(lines map[string]float64) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(lines)), func(name string) bool { return name == "" })
}

func (o *observed) holdsVariables(t *testing.T, d *dashboard, want boardTally) {
	choices := map[string][]string{
		"agent": slices.Sorted(maps.Keys(want["runs by agent"])),
		"team":  named(want["runs by team"]), "repository": named(want["runs by repository"]),
		"model": slices.Sorted(maps.Keys(want["requests"])),
		"tool":  slices.Sorted(maps.Keys(want["tools"])),
	}
	for i := range d.Templating.List {
		v := &d.Templating.List[i]
		if v.Type != "query" {
			continue
		}
		got, err := o.values(v)
		if diff := gocmp.Diff(choices[v.Name], got); diff != "" || err != nil {
			t.Errorf("variable %s: %v (-spans +choices):\n%s", v.Name, err, diff)
		}
		delete(choices, v.Name)
	}
	if len(choices) > 0 {
		t.Errorf("no variable for %s", fmt.Sprint(slices.Sorted(maps.Keys(choices))))
	}
}
