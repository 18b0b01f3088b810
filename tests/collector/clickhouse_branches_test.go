package collector_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
	"github.com/hookspan/hookspan/otelmap"
)

// drawnTask is a task in a repository and on a branch, whose requests may have been made in others.
func drawnTask(r *rand.Rand, n int) (spans []*tracepb.Span) {
	one := func(of ...string) string { return of[r.IntN(len(of))] }
	began := time.Date(2026, 11, 1, 0, n, 0, 0, time.UTC)
	span := func(i int, operation string, attributes ...*commonpb.KeyValue) *tracepb.Span {
		at := uint64(began.Add(time.Duration(i) * time.Second).UnixNano()) //nolint:gosec // After 1970.
		sp := &tracepb.Span{
			TraceId: fmt.Appendf(nil, "%016d", n), SpanId: fmt.Appendf(nil, "%04d%04d", n, i), Name: operation, StartTimeUnixNano: at, EndTimeUnixNano: at + 1e9,
			Attributes: append(attributes, otlp.String(otelmap.KeyOperation, operation)),
		}
		if i > 0 {
			sp.ParentSpanId = fmt.Appendf(nil, "%04d%04d", n, 0)
		}
		return sp
	}
	used := func(in, out, micros int64) []*commonpb.KeyValue {
		return []*commonpb.KeyValue{otlp.Int(otelmap.KeyInputTokens, in), otlp.Int(otelmap.KeyOutputTokens, out), otlp.Float(otelmap.KeyCost, float64(micros)/1e6)}
	}
	where := func(branch string, unknown bool) (out []*commonpb.KeyValue) {
		if branch != "" {
			out = append(out, otlp.String(otelmap.KeyBranch, branch))
		}
		if unknown {
			out = append(out, otlp.Bool(otelmap.KeyBranchUnknown, true))
		}
		return out
	}
	var in, out, micros int64
	requests := r.IntN(5)
	for i := range requests {
		own := []int64{r.Int64N(1000), r.Int64N(100), r.Int64N(1000)}
		in, out, micros = in+own[0], out+own[1], micros+own[2]
		branch, other := one("", "", "main", "fix"), one("", "", "https://git.example/a/web")
		at := where(branch, branch == "" && (other != "" || r.IntN(3) == 0))
		if other != "" {
			at = append(at, otlp.String(otelmap.KeyRepositoryURL, other))
		}
		spans = append(spans, span(1+i, "chat", append(used(own[0], own[1], own[2]), at...)...))
	}
	root := span(0, "invoke_agent", where(one("", "main", "fix", "main"), r.IntN(4) == 0)...)
	root.Attributes = append(root.Attributes, otlp.String(otelmap.KeyOutcome, "completed"), otlp.String(otelmap.KeyConversationID, fmt.Sprint(n)))
	if requests > 0 {
		root.Attributes = append(root.Attributes, otlp.Int(otelmap.KeyRunInputTokens, in), otlp.Int(otelmap.KeyRunOutputTokens, out), otlp.Float(otelmap.KeyCost, float64(micros)/1e6))
	} else {
		root.Attributes = append(root.Attributes, used(7, 3, 5)...)
	}
	if url := one("", "https://git.example/a/shop", "https://git.example/b/shop"); url != "" {
		root.Attributes = append(root.Attributes, otlp.String(otelmap.KeyRepositoryURL, url))
	}
	if name := one("", "shop"); name != "" {
		root.Attributes = append(root.Attributes, otlp.String(otelmap.KeyRepositoryName, name))
	}
	return append([]*tracepb.Span{root}, spans...)
}

// clickHouseRow is a span as the Collector's exporter writes it.
func clickHouseRow(t *testing.T, sp *tracepb.Span) string {
	t.Helper()
	attributes := make(map[string]string)
	for _, kv := range sp.Attributes {
		switch v := kv.Value.Value.(type) {
		case *commonpb.AnyValue_StringValue:
			attributes[kv.Key] = v.StringValue
		case *commonpb.AnyValue_IntValue:
			attributes[kv.Key] = fmt.Sprint(v.IntValue)
		case *commonpb.AnyValue_DoubleValue:
			attributes[kv.Key] = fmt.Sprint(v.DoubleValue)
		case *commonpb.AnyValue_BoolValue:
			attributes[kv.Key] = fmt.Sprint(v.BoolValue)
		}
	}
	b, err := json.Marshal(map[string]any{
		"Timestamp": time.Unix(0, int64(sp.StartTimeUnixNano)).UTC().Format("2006-01-02 15:04:05.000000000"), //nolint:gosec // After 1970.
		"TraceId":   fmt.Sprintf("%x", sp.TraceId), "SpanId": fmt.Sprintf("%x", sp.SpanId), "ParentSpanId": fmt.Sprintf("%x", sp.ParentSpanId),
		"SpanName": sp.Name, "SpanAttributes": attributes, "Duration": 1_000_000_000,
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(b) + "\n"
}

// TestClickHouseHasTheBranchesOfTheStore draws tasks and compares what both say of them.
func TestClickHouseHasTheBranchesOfTheStore(t *testing.T) {
	e := newEngine(t)
	s, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "traces.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()                   //nolint:errcheck // The test has ended.
	r := rand.New(rand.NewPCG(58, 8)) //nolint:gosec // Not for secrets.
	var rows strings.Builder
	for n := range 300 {
		spans := drawnTask(r, n)
		if err := s.UploadTraces(t.Context(), []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: spans}}}}); err != nil {
			t.Fatal(err)
		}
		for _, sp := range spans {
			_, _ = rows.WriteString(clickHouseRow(t, sp))
		}
	}
	e.run("INSERT INTO otel.otel_traces FORMAT JSONEachRow\n" + rows.String())
	for _, by := range []store.By{view.ByRepository, view.ByBranch} {
		sums, err := view.SumBy(t.Context(), s, store.Filter{Limit: -1}, time.UTC, by, nil)
		if err != nil {
			t.Fatal(err)
		}
		ours, theirs := figures{}, figures{}
		for _, g := range sums.Groups {
			name := g.Repository + " " + g.Key
			theirs[name+" tasks"], theirs[name+" in"], theirs[name+" out"], theirs[name+" cost"] = float64(g.Traces), float64(g.Usage.Input), float64(g.Usage.Output), rounded(g.Usage.Cost())
		}
		for _, row := range e.query("cost_by_" + string(by)) {
			name := " " + fmt.Sprint(row["repository"])
			if by == view.ByBranch {
				name = fmt.Sprint(row["repository"], " ", row["branch"])
			}
			ours[name+" tasks"], ours[name+" in"], ours[name+" out"], ours[name+" cost"] = row.value("tasks"), row.value("input_tokens"), row.value("output_tokens"), rounded(row.value("cost_usd"))
		}
		if diff := cmp.Diff(theirs, ours); diff != "" || len(theirs) < 12 {
			t.Errorf("by %s %d figures (-hookspan stats +ClickHouse):\n%s", by, len(theirs), diff)
		}
	}
}
