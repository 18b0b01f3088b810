package export

import (
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/redact"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
	"github.com/hookspan/hookspan/otelmap"
)

// TestReportHasNoPartOfAKey has keys where a report cuts its texts, and where it replaces numbers.
func TestReportHasNoPartOfAKey(t *testing.T) {
	const key = "sk-ant-api03-Zx8Qw3Er5Ty7Ui9Op1As2Df4Gh6Jk8Lz0Xc2Vb4Nm6Qw8Er0Ty2Ui4Op6As8Df0Gh2Jk4Lz6-Xc8Vb0NmAA"
	clean := redact.New(nil)
	for before := range 130 {
		r := view.Reporter{Clean: clean.Tail}
		text := strings.Repeat("a ", before/2) + strings.Repeat("a", before%2) + " " + key
		cost := 1.0
		for _, trace := range []string{"11111111", "22222222"} {
			w := &store.Work{Summary: store.Summary{TraceID: strings.Repeat(trace, 4), Title: text, Usage: &store.Usage{CostUSD: &cost}}}
			w.Calls = append(w.Calls, store.Call{Trace: trace, Tool: "Bash", Status: otelmap.EndFailed, Error: "error: " + text},
				store.Call{Trace: trace, Tool: "Write", Status: otelmap.EndOK, Arguments: `{"file_path":"/w/` + strings.Repeat("d/", 2048) + key + `","content":"x"}`})
			r.Add(w)
		}
		report := r.Report("A week", store.Totals{}, nil, view.Options{Location: time.UTC})
		var b strings.Builder
		if err := Report(&b, Markdown, report, clean); err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{"sk-ant", "sk\\-ant", "Zx8Qw", "Zx#", "#Qw"} {
			if at := strings.Index(b.String(), part); at >= 0 {
				t.Fatalf("%d letters before the key: the report has %q", before, b.String()[max(0, at-60):min(b.Len(), at+60)])
			}
		}
		if len(report.Tables) != 3 {
			t.Fatalf("%d tables, want those of tasks, failures and files", len(report.Tables))
		}
	}
}
