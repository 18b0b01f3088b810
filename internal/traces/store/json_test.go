package store

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/hookspan/hookspan/internal/testkit/golden"
	"github.com/hookspan/hookspan/internal/testkit/otlptest"
	"github.com/hookspan/hookspan/otelmap"
)

func TestTraceJSONGolden(t *testing.T) {
	b := newBuild("json")
	root := b.Root("Compare a < b & c", otelmap.OutcomeFailed, time.Second, usageAttrs(10, 2, 3, 0.5)...)
	b.Fail(otelmap.ErrorRun, "it broke")
	b.Tool(root, "read_file", `{"path":"a"}`, 0, time.Second)
	b.Chat(root, 0, time.Second)
	messages := b.Request(b.Spans[:2]...)
	b.Version = "other"
	tr := stored(t, append(messages, b.Request(b.Last())...))
	for name, v := range map[string]any{"pointer": tr, "value": *tr} {
		var out bytes.Buffer
		e := json.NewEncoder(&out)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		if err := e.Encode(v); err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) { golden.Check(t, "trace.json", out.String()) })
	}
}

func TestTraceJSONHoldsEverySpan(t *testing.T) {
	tr := stored(t, clineTrace().Messages())
	doc, err := json.Marshal(tr)
	if err != nil {
		t.Fatal(err)
	}
	// ParseJSON ignores the members of the summary, as a receiver does.
	got, err := otlptest.Messages(doc)
	if err != nil {
		t.Fatal(err)
	}
	want := &tracepb.TracesData{ResourceSpans: tr.ResourceSpans}
	if d := cmp.Diff(want, &tracepb.TracesData{ResourceSpans: got}, protocmp.Transform()); d != "" {
		t.Errorf("JSON (-stored +read):\n%s", d)
	}
}

func TestEmptyTraceHasAnEmptyList(t *testing.T) {
	got, err := json.Marshal(&Trace{})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"traceId":"","parts":0,"spans":0,"tools":0,"toolFailures":0,"toolDenials":0,"durationMs":0,"resourceSpans":[]}`
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Errorf("JSON (-want +got):\n%s", d)
	}
}
