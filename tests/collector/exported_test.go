package collector_test

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/testkit/otlptest"
	"github.com/hookspan/hookspan/internal/traces/export"
	"github.com/hookspan/hookspan/internal/traces/store"
)

// TestCollectorTakesExportedTraces posts what hookspan export writes to the receiver
// of a Collector and compares what it passes on.
func TestCollectorTakesExportedTraces(t *testing.T) {
	var traces []store.Summary
	stored := make(map[string]*store.Trace)
	var want []string
	for _, name := range []string{"claude", "cline"} {
		doc, err := os.ReadFile(filepath.Join("..", "..", "internal", "traces", "export", "testdata", name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		messages, err := otlptest.Messages(doc)
		if err != nil {
			t.Fatal(err)
		}
		traces = append(traces, store.Summary{TraceID: name})
		stored[name] = &store.Trace{ResourceSpans: messages}
		for s := range otlp.Spans(messages) {
			want = append(want, otlp.TraceID(s)+" "+otlp.SpanID(s)+" "+otlp.ParentID(s)+" "+s.GetName())
		}
	}
	var body bytes.Buffer
	get := func(id string) (*store.Trace, error) { return stored[id], nil }
	if _, err := export.Write(&body, export.OTLP, traces, get, export.Options{}); err != nil {
		t.Fatal(err)
	}

	l := newLone(t)
	l.start()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+l.listen+"/v1/traces", &body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("the Collector answers %s", resp.Status)
	}
	if !until(t.Context(), patience, func() bool { return len(l.backend.Spans()) >= len(want) }) {
		t.Fatalf("%d of %d spans were passed on", len(l.backend.Spans()), len(want))
	}
	var got []string
	for _, r := range l.backend.Requests() {
		req, _, err := otlptest.Decode(r.Header, r.Body)
		if err != nil {
			t.Fatal(err)
		}
		for s := range otlp.Spans(req.GetResourceSpans()) {
			got = append(got, otlp.TraceID(s)+" "+otlp.SpanID(s)+" "+otlp.ParentID(s)+" "+s.GetName())
		}
	}
	slices.SortFunc(want, strings.Compare)
	slices.SortFunc(got, strings.Compare)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("spans (-want +got):\n%s", d)
	}
}
