package collector_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/otlptest"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

var fileRows = []proof.Row{
	fileRow("as it is", "{path: ./out/traces.jsonl, append: true}", false),
	fileRow("with rotation", "{path: ./out/traces.jsonl, rotation: {max_megabytes: 1000}}", true),
}

// fileRow kills a Collector that has a file exporter once it has answered. keeps
// says whether everything that was answered for must be in the file then.
func fileRow(how, settings string, keeps bool) proof.Row {
	rule := "what is in the file can be read; what was answered for in the last second may be missing"
	if keeps {
		rule = "everything that was answered for is in the file"
	}
	return proof.Row{
		Name: "SIGKILL of a Collector with a file exporter, " + how + ", right after its answer",
		Rule: rule, Short: 5, Long: 200,
		Run: func(t *testing.T, r *proof.Result) { killFile(t, r, settings, keeps) },
	}
}

const filePipeline = `yaml:
receivers: {otlp: {protocols: {http: {endpoint: "%s"}}}}
exporters: {file: %s}
service:
  pipelines: {traces: {receivers: [otlp], exporters: [file]}}
  telemetry: {metrics: {level: none}}
`

func killFile(t *testing.T, r *proof.Result, settings string, keeps bool) {
	l := newLone(t)
	l.o.Configs = []string{fmt.Sprintf(filePipeline, l.listen, settings)}
	if err := os.MkdirAll(filepath.Join(l.o.Dir, "out"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := l.start()
	// Less than the exporter's buffer takes.
	const spans = 2
	for n := range r.N {
		if status, err := l.post(n, spans, 10); err != nil || status != http.StatusOK {
			t.Fatalf("answered %d (%v)", status, err)
		}
		if err := errors.Join(c.Kill(), c.Restart(t.Context())); err != nil {
			t.Fatal(err)
		}
		r.Trial(1)
	}
	b, err := os.ReadFile(filepath.Join(l.o.Dir, "out", "traces.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	// A kill between a request and its line's end puts two on one line.
	have := make(map[otlptest.ID]bool)
	torn := 0
	for line := range bytes.Lines(b) {
		for dec := json.NewDecoder(bytes.NewReader(line)); dec.More(); {
			var doc json.RawMessage
			if err := dec.Decode(&doc); err != nil {
				torn++
				break
			}
			req, err := otlptest.DecodeJSON(doc)
			if err != nil {
				r.Break("what can be read is no OTLP: %v", err)
				continue
			}
			for _, s := range otlptest.Flatten(req) {
				have[s.ID] = true
			}
		}
	}
	missing := 0
	for n := range r.N {
		for i := range spans {
			if !have[postedID(n, i)] {
				missing++
			}
		}
	}
	if keeps && missing > 0 {
		r.Break("%d of %d spans that were answered for are not in the file", missing, r.N*spans)
	}
	r.Note("%d of %d spans are missing, %d torn lines", missing, r.N*spans, torn)
}
