package verify

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/internal/importer"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/testkit/transcripttest"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/verify/agentfiles"
	"github.com/hookspan/hookspan/internal/transcript"
	"github.com/hookspan/hookspan/otelmap/step"
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
					Env: agentfiles.Env{Home: home}, Store: st, Version: version, Now: now, Clean: func(text string) string { return text },
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
			Env: agentfiles.Env{Home: home}, Store: st, Version: "1", Since: since, Now: at, Clean: func(text string) string { return text },
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

// TestVerdictOfASessionThatMoved has a session that went to a private folder, of which an import
// leaves a part out: the rest is compared.
func TestVerdictOfASessionThatMoved(t *testing.T) {
	off := func(dir string) bool { return dir == "/private" }
	home := t.TempDir()
	claudeWork(t, home, work())
	moveTo(t, home, "/private", workTime(205), workTime(900))
	r := recordedOutside(t, "claude-code", home, off)
	wrong := []*tracepb.ResourceSpans{proto.CloneOf(r.spans[0])}
	for s := range otlp.Spans(wrong) {
		if statusOf(step.Of(s)) == failed {
			succeed(s)
		}
	}
	for name, c := range map[string]struct {
		sent, there []*tracepb.ResourceSpans
		want        ImportVerdict
	}{
		"right":              {sent: r.spans, want: ImportVerdict{Sessions: 1, Findings: Findings{Complete: true}}},
		"wrong":              {sent: append(wrong, r.spans[1:]...), want: ImportVerdict{Sessions: 1}},
		"there, and right":   {there: r.spans, want: ImportVerdict{Sessions: 1, Findings: Findings{Complete: true}}},
		"there, and wrong":   {there: append(wrong, r.spans[1:]...), want: ImportVerdict{Sessions: 1}},
		"private as a whole": {want: ImportVerdict{Findings: Findings{Complete: true}}},
	} {
		st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "traces.db"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = st.Close() }()
		if err := st.UploadTraces(t.Context(), append(c.sent, c.there...)); err != nil {
			t.Fatal(err)
		}
		check := NewImportCheck(r.host, []importer.Session{{Session: transcript.Session{ID: r.id}}})
		skipped := importer.Skipped{SwitchedOff: 1, AlreadyThere: len(c.there)}
		check.Observe(r.id, skipped, nil)
		if c.sent != nil {
			check.Observe(r.id, skipped, c.sent)
		}
		v, err := check.Verdict(t.Context(), Place{
			Env: agentfiles.Env{Home: home}, Store: st, Version: "1", Now: workTime(9000), Clean: func(text string) string { return text }, Off: off,
		})
		if err != nil || v.Complete != c.want.Complete || v.Sessions != c.want.Sessions || len(v.Untraced) > 0 {
			t.Errorf("%s: %+v, %v; want %+v", name, v, err, c.want)
		}
	}
}
