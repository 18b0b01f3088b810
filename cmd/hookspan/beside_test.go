package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/testkit/sqlitetest"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
)

// TestAnotherProgramReadsTheStoreBesideEveryCommand has the store open, as the page has,
// runs each command in the same process, and lets another SQLite program read and close
// the file: it must neither take the log away nor miss what is stored next.
func TestAnotherProgramReadsTheStoreBesideEveryCommand(t *testing.T) {
	a, stdout, _ := newTestApp(t, "list")
	if code := run(context.Background(), a); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	path := a.cfg.StorePath()
	foreign := sqlitetest.Reader(t, path)
	s, err := store.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // The test has ended.
	put := func(n int) string {
		t.Helper()
		messages := ended(a, n)
		if err := s.UploadTraces(t.Context(), messages); err != nil {
			t.Fatal(err)
		}
		return otlp.TraceID(messages[0].ScopeSpans[0].Spans[0])
	}
	id := put(0)
	for n, args := range [][]string{
		{"list"},
		{"list", "--grep", "task"},
		{"stats", "--by", "tool"},
		{"show", id},
		{"tail", "--no-follow"},
		{"export", id},
		{"export", id, "--format", "otlp"},
		{"status"},
		{"doctor"},
		{"verify", id},
		{"flush"},
		{"import", "claude", "--to", "store"},
		{"config"},
		{"hooks", "list"},
		{"delete", id, "--dry-run"},
		{"delete", id, "--yes"},
		{"prune", "--before", "1d", "--yes"},
		{"prune", "--before", "now", "--yes"},
	} {
		name := strings.Join(args, " ")
		c := newApp(args, strings.NewReader(""), stdout, &bytes.Buffer{}, a.environ)
		c.home, c.goos = a.home, a.goos
		_ = run(context.Background(), c) // Some find no agent.
		foreign(`SELECT count(*) FROM traces`)
		next := put(n + 1)
		if got := foreign(fmt.Sprintf(`SELECT count(*) FROM traces WHERE trace_id = '%s'`, next)); got != "1" {
			t.Fatalf("after %s another program does not see the next trace", name)
		}
		if got := foreign(`PRAGMA integrity_check`); got != "ok" {
			t.Fatalf("after %s: %s", name, got)
		}
	}
}

// ended returns a task that has ended.
func ended(a *app, n int) []*tracepb.ResourceSpans {
	at := otlp.UnixNano(a.now())
	span := &tracepb.Span{
		Name: "invoke_agent cline", StartTimeUnixNano: at, EndTimeUnixNano: at, TraceId: []byte{0: 0xaa, 15: byte(n)}, SpanId: []byte{1, 7: byte(n)},
	}
	span.Attributes = append(span.Attributes, otlp.String(otelmap.KeyOperation, otelmap.OpInvokeAgent), otlp.String(otelmap.KeyHost, "cline"),
		otlp.String(otelmap.KeyInputMessages, otelmap.TextMessages(otelmap.RoleUser, "the task")), otlp.String(otelmap.KeyOutcome, otelmap.OutcomeCompleted))
	return []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{span}}}}}
}

// TestExportLeavesOutWhatIsDeletedMeanwhile deletes a trace after it was chosen.
func TestExportLeavesOutWhatIsDeletedMeanwhile(t *testing.T) {
	a, stdout, stderr := newTestApp(t, "list")
	if code := run(context.Background(), a); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	s, err := store.Open(t.Context(), a.cfg.StorePath())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // The test has ended.
	for n := range 3 {
		if err := s.UploadTraces(t.Context(), ended(a, n)); err != nil {
			t.Fatal(err)
		}
	}
	chosen, err := s.List(t.Context(), store.Filter{})
	if err == nil {
		_, err = s.Delete(t.Context(), []string{chosen[1].TraceID})
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []exportFlags{{format: "html", output: filepath.Join(a.home, "out.html")}, {format: "otlp"}} {
		stdout.Reset()
		stderr.Reset()
		if err := exportFile(t.Context(), a, s, slices.Clone(chosen), f); err != nil {
			t.Fatal(err)
		}
		out := stdout.String()
		if f.output != "" {
			if out != "wrote "+f.output+": 2 traces\n" {
				t.Errorf("%q", out)
			}
			data, err := os.ReadFile(f.output)
			if err != nil {
				t.Fatal(err)
			}
			out = string(data)
		}
		if strings.Contains(out, "3 traces") || strings.Contains(out, chosen[1].TraceID) || !strings.Contains(out, chosen[2].TraceID[30:]) {
			t.Errorf("%s: %s", f.format, out)
		}
		if got := stderr.String(); got != "hint: 1 trace left out: deleted meanwhile\n" {
			t.Errorf("%s: %q", f.format, got)
		}
	}
}
