package store

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/otelmap"
)

func TestTraceJSONGolden(t *testing.T) {
	b := newBuild("json")
	root := b.root("Compare a < b & c", otelmap.OutcomeFailed, time.Second, usageAttrs(10, 2, 3, 0.5)...)
	b.fail(otelmap.ErrorRun, "it broke")
	b.tool(root, "read_file", `{"path":"a"}`, 0, time.Second)
	b.chat(root, 0, time.Second)
	b.last().InstrumentationScope.Version = "other"
	tr := stored(t, b.spans)
	for name, v := range map[string]any{"pointer": tr, "value": *tr} {
		out, err := rawjson.MarshalIndent(v, "  ")
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) { golden(t, "trace.json", string(out)+"\n") })
	}
}

// TestTraceJSONHoldsEverySpan reads the OTLP part as a receiver would.
func TestTraceJSONHoldsEverySpan(t *testing.T) {
	tr := stored(t, clineTrace().spans)
	data, err := json.Marshal(tr)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		TraceID       string `json:"traceId"`
		ResourceSpans []jsonResourceSpans
	}
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.ResourceSpans) != 1 || len(got.ResourceSpans[0].ScopeSpans) != 1 || got.TraceID != tr.TraceID {
		t.Fatalf("got %d groups of trace %q", len(got.ResourceSpans), got.TraceID)
	}
	rs := got.ResourceSpans[0]
	o := jsonOrigin{Resource: rs.Resource, SchemaURL: rs.SchemaURL, Scope: rs.ScopeSpans[0].Scope, ScopeSchemaURL: rs.ScopeSpans[0].SchemaURL}
	for i, js := range rs.ScopeSpans[0].Spans {
		span, err := js.stub()
		if err != nil {
			t.Fatal(err)
		}
		span.Resource, span.InstrumentationScope = o.resource(), o.scope()
		if d := cmp.Diff(tr.Spans[i], span, equalSpans); d != "" {
			t.Errorf("span %d (-stored +JSON):\n%s", i, d)
		}
	}
}

func TestAnEmptyTraceHasAnEmptyList(t *testing.T) {
	got, err := json.Marshal(&Trace{})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"traceId":"","runs":0,"spans":0,"tools":0,"toolFailures":0,"durationMs":0,"resourceSpans":[]}`
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Errorf("JSON (-want +got):\n%s", d)
	}
}
