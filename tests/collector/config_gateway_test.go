package collector_test

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/otelmap"
)

// rootsOf are the runs' own spans.
func rootsOf(spans map[string]placed) map[string]placed {
	out := map[string]placed{}
	for id, s := range spans {
		if text(s, "hookspan.outcome") != "" {
			out[id] = s
		}
	}
	return out
}

func attribute(s placed, key string) *commonpb.AnyValue {
	for _, kv := range s.GetAttributes() {
		if kv.GetKey() == key {
			return kv.GetValue()
		}
	}
	return nil
}

func text(s placed, key string) string { return attribute(s, key).GetStringValue() }

func number(s placed, key string) float64 {
	v := attribute(s, key)
	return float64(v.GetIntValue()) + v.GetDoubleValue()
}

// Each token and each dollar is counted once: on the chat spans for the models,
// on the roots for the runs.
func TestUsageIsCountedOnce(t *testing.T) {
	t.Parallel()
	to := newBackend(t)
	s := startShipped(t, shippedConfig{[]string{"gateway.yaml"}, map[string]string{"BACKEND_ENDPOINT": to.URL, "GATEWAY_NAME": "gw-7"}})
	sent := recordedSpans(t)
	// Some senders have the latest names.
	for i := 0; i < len(sent); i += 2 {
		for j, m := range sent[i].GetResourceSpans() {
			sent[i].ResourceSpans[j] = otelmap.WithLatestNames(m)
		}
	}
	hand(t, s.listen, sent...)

	want := map[string]float64{}
	add := func(metric string, by float64) { want[metric] = math.Round((want[metric]+by)*1e9) / 1e9 }
	for _, span := range spansByID(t, sent...) {
		switch {
		case text(span, "gen_ai.operation.name") == "chat":
			add(`gen_ai_client_token_usage_sum{input}`, number(span, "gen_ai.usage.input_tokens"))
			add(`gen_ai_client_token_usage_sum{output}`, number(span, "gen_ai.usage.output_tokens"))
			add(`hookspan_cache_read_tokens_total{}`, number(span, "gen_ai.usage.cache_read.input_tokens"))
			add(`hookspan_cache_creation_tokens_total{}`, number(span, "gen_ai.usage.cache_creation.input_tokens")+number(span, "gen_ai.usage.cache_write.input_tokens"))
			add(`hookspan_cost_usd_total{}`, number(span, "hookspan.cost.usd"))
		case text(span, "hookspan.outcome") != "":
			add(`hookspan_run_tokens_total{input}`, number(span, "hookspan.usage.input_tokens")+number(span, "gen_ai.usage.input_tokens"))
			add(`hookspan_run_tokens_total{output}`, number(span, "hookspan.usage.output_tokens")+number(span, "gen_ai.usage.output_tokens"))
			add(`hookspan_run_cost_usd_total{}`, number(span, "hookspan.cost.usd"))
		}
		if text(span, "gen_ai.operation.name") == "execute_tool" {
			add("tools", 1)
			if span.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR {
				add("failed tools", 1)
			}
		}
	}
	var got map[string]float64
	same := func() bool {
		got = map[string]float64{}
		for _, m := range scrape(t, s.metrics) {
			key := fmt.Sprintf("%s{%s}", m.name, m.labels["gen_ai_token_type"])
			switch {
			case m.name == "agent_calls_total" && m.labels["gen_ai_operation_name"] == "execute_tool":
				got["tools"] += m.value
				if m.labels["status_code"] == "STATUS_CODE_ERROR" {
					got["failed tools"] += m.value
				}
			case want[key] != 0:
				got[key] = math.Round((got[key]+m.value)*1e9) / 1e9
			}
			if m.name != "target_info" && (m.labels["gateway"] != "gw-7" || m.labels["job"] == "") {
				t.Fatalf("%s{%v}: want the gateway's name and the agent on each", m.name, m.labels)
			}
			if m.labels["host_name"] != "" && m.name != "target_info" {
				t.Fatalf("%s has a series for each host", m.name)
			}
		}
		return len(got) == len(want) && fmt.Sprint(got) == fmt.Sprint(want)
	}
	if !until(t.Context(), patience, same) {
		t.Errorf("metrics\ngot  %v\nwant %v", got, want)
	}
	if len(want) != 10 {
		t.Errorf("the recordings have no number for some metric: %v", want)
	}
}

type sample struct {
	name   string
	labels map[string]string
	value  float64
}

var (
	sampleLine = regexp.MustCompile(`^([a-z_]+)(?:\{(.*)\})? (\S+)$`)
	label      = regexp.MustCompile(`([a-z_]+)="((?:[^"\\]|\\.)*)"`)
)

// scrape reads the metrics as Prometheus does, buckets left out.
func scrape(t *testing.T, address string) (out []sample) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req) //nolint:gosec // An address of loopback.
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		m := sampleLine.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil || strings.HasSuffix(m[1], "_bucket") {
			continue
		}
		s := sample{name: m[1], labels: map[string]string{}}
		for _, l := range label.FindAllStringSubmatch(m[2], -1) {
			s.labels[l[1]] = l[2]
		}
		if s.value, err = strconv.ParseFloat(m[3], 64); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		out = append(out, s)
	}
	return out
}

// Of the recorded runs exactly those are kept that failed, were slow or cost
// much; late spans and repeats get the decision of their run.
func TestSamplingKeepsWhatMatters(t *testing.T) {
	t.Parallel()
	const slow, cost = 8 * time.Second, 0.1
	to := newBackend(t)
	s := startShipped(t, shippedConfig{[]string{"gateway.yaml"}, map[string]string{
		"BACKEND_ENDPOINT": to.URL, "KEEP_PERCENT": "0", "KEEP_SLOW_MS": strconv.FormatInt(slow.Milliseconds(), 10), "KEEP_COST_USD": fmt.Sprint(cost),
	}})
	sent := recordedSpans(t)
	spans := spansByID(t, sent...)
	why := map[string]string{}
	for _, root := range rootsOf(spans) {
		outcome := text(root, "hookspan.outcome")
		trace := fmt.Sprintf("%x", root.GetTraceId())
		var kept []string
		if outcome == "failed" || outcome == "abandoned" {
			kept = append(kept, outcome)
		}
		if time.Duration(root.GetEndTimeUnixNano()-root.GetStartTimeUnixNano()) > slow { //nolint:gosec // A duration.
			kept = append(kept, "slow")
		}
		if number(root, "hookspan.cost.usd") >= cost {
			kept = append(kept, "costly")
		}
		if kept != nil {
			why[trace] = strings.Join(kept, " and ")
		}
	}
	seen := map[string]int{}
	for _, w := range why {
		seen[w]++
	}
	// Of each kind one that nothing else would keep.
	if seen["failed"] == 0 || seen["abandoned"] == 0 || seen["slow"] == 0 || seen["costly"] == 0 || len(why) == len(rootsOf(spans)) {
		t.Fatalf("the recordings do not have every kind: %v of %d", seen, len(rootsOf(spans)))
	}
	want := map[string]placed{}
	for id, span := range spans {
		if why[fmt.Sprintf("%x", span.GetTraceId())] != "" {
			want[id] = span
		}
	}
	// The roots first, and all else when they have been decided on.
	roots, others := parted(sent)
	hand(t, s.listen, roots...)
	to.await(t, len(why))
	hand(t, s.listen, others...)
	samePassed(t, want, to)
	// Once more, when all has been decided: by what is remembered.
	before := len(to.arrivals())
	hand(t, s.listen, sent...)
	if !until(t.Context(), patience, func() bool { return len(to.arrivals()) > before }) {
		t.Error("nothing came of a repeat")
	}
	samePassed(t, want, to)
}

// parted takes the runs' own spans out of requests.
func parted(requests []*collectorpb.ExportTraceServiceRequest) (roots, others []*collectorpb.ExportTraceServiceRequest) {
	part := func(r *collectorpb.ExportTraceServiceRequest, root bool) *collectorpb.ExportTraceServiceRequest {
		c := proto.CloneOf(r)
		for _, rs := range c.GetResourceSpans() {
			for _, ss := range rs.GetScopeSpans() {
				ss.Spans = slices.DeleteFunc(ss.Spans, func(s *tracepb.Span) bool {
					return (text(placed{Span: s}, "hookspan.outcome") != "") != root
				})
			}
		}
		return c
	}
	for _, r := range requests {
		roots, others = append(roots, part(r, true)), append(others, part(r, false))
	}
	return roots, others
}
