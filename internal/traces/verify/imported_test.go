package verify

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/importer"
	"github.com/hookspan/hookspan/internal/testkit/transcripttest"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/verify/agentfiles"
	"github.com/hookspan/hookspan/internal/transcript"
)

// TestVerdictHoldsWhileNothingChanges has files that are changed behind a verdict, keeping their
// sizes and times: they are read again only after the program, the traces or the files changed.
func TestVerdictHoldsWhileNothingChanges(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, ".claude", "projects", "-w", "s1.jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	write := func(text string, at time.Time) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	right := reportedTurn("s1", 1)
	wrong := strings.Replace(right, `"output_tokens":2`, `"output_tokens":9`, 1)
	for name, c := range map[string]struct {
		version string
		change  func(*store.Store)
		at      time.Time
		differs bool
	}{
		"nothing":          {version: "1", at: now.Add(-time.Hour)},
		"another version":  {version: "2", at: now.Add(-time.Hour), differs: true},
		"a time":           {version: "1", at: now.Add(-time.Minute), differs: true},
		"a deletion":       {version: "1", at: now.Add(-time.Hour), differs: true, change: func(st *store.Store) { deleteFirst(t, st) }},
		"a time too close": {version: "1", at: now.Add(-time.Second), differs: true},
	} {
		t.Run(name, func(t *testing.T) {
			st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "traces.db"))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = st.Close() }()
			verdict := func(version string, runs []*tracepb.ResourceSpans) *ImportVerdict {
				t.Helper()
				check := NewImportCheck("claude-code", []importer.Session{{Session: transcript.Session{ID: "s1"}}})
				check.Observe("s1", importer.Skipped{AlreadyThere: 1 - min(1, len(runs))}, nil)
				if runs != nil {
					check.Observe("s1", importer.Skipped{}, runs)
				}
				v, err := check.Verdict(t.Context(), Place{
					Env: agentfiles.EnvOf(home, nil), Store: st, Version: version, Now: now, Clean: func(text string) string { return text },
				})
				if err != nil {
					t.Fatal(err)
				}
				return v
			}
			write(right, now.Add(-time.Hour))
			runs := append(read(t, home)[0].spans, resource(rootSpan(0, 1, "completed")))
			runs[len(runs)-1].ScopeSpans[0].Spans[0].TraceId = []byte("0123456789abcdef")
			if err := st.UploadTraces(t.Context(), runs); err != nil {
				t.Fatal(err)
			}
			if v := verdict("1", runs[:len(runs)-1]); !v.Complete {
				t.Fatalf("first verdict %+v", v)
			}
			write(wrong, c.at)
			if c.change != nil {
				c.change(st)
			}
			if v := verdict(c.version, nil); v.Complete == c.differs {
				t.Errorf("complete %v, differences %v", v.Complete, v.Differ)
			}
		})
	}
}

// deleteFirst deletes a trace of another session.
func deleteFirst(t *testing.T, st *store.Store) {
	t.Helper()
	if n, err := st.Delete(t.Context(), []string{"30313233343536373839616263646566"}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
}

// TestVerdictOfAnImportSinceATimeLeavesOlderFiles has a file that is newer than a verdict and older
// than what the next import asks for: the import after that compares it.
func TestVerdictOfAnImportSinceATimeLeavesOlderFiles(t *testing.T) {
	home, now := t.TempDir(), time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "traces.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	verdict := func(at, since time.Time, ids ...string) *ImportVerdict {
		t.Helper()
		check := NewImportCheck("claude-code", []importer.Session{{Session: transcript.Session{ID: "s1"}}, {Session: transcript.Session{ID: "s2"}}})
		for _, id := range ids {
			check.Observe(id, importer.Skipped{AlreadyThere: 1}, nil)
		}
		v, err := check.Verdict(t.Context(), Place{
			Env: agentfiles.EnvOf(home, nil), Store: st, Version: "1", Since: since, Now: at, Clean: func(text string) string { return text },
		})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	write := func(session, text string, at time.Time) {
		t.Helper()
		path := filepath.Join(home, ".claude", "projects", "-w", session+".jsonl")
		transcripttest.Write(t, path, text)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	write("s1", reportedTurn("s1", 1), now.Add(-time.Hour))
	write("s2", strings.ReplaceAll(reportedTurn("s2", 2), `"id":"m`, `"id":"o`), now.Add(time.Minute))
	for _, r := range read(t, home) {
		if err := st.UploadTraces(t.Context(), r.spans); err != nil {
			t.Fatal(err)
		}
	}
	if v := verdict(now, time.Time{}, "s1", "s2"); !v.Complete {
		t.Fatalf("first verdict %+v", v)
	}
	write("s2", strings.Replace(reportedTurn("s2", 2), `"output_tokens":2`, `"output_tokens":9`, 1), now.Add(time.Minute))
	if v := verdict(now.Add(2*time.Hour), now.Add(time.Hour)); !v.Complete {
		t.Errorf("an import since a later time %+v", v)
	}
	if v := verdict(now.Add(3*time.Hour), time.Time{}, "s2"); v.Complete {
		t.Errorf("a file that no import compared is equal: %+v", v)
	}
}
