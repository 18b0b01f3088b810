package verify

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
	"github.com/hookspan/hookspan/otelmap"
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
		"a deletion":       {version: "1", at: now.Add(-time.Hour), differs: true, change: func(st *store.Store) { deleteTrace(t, st, "s1") }},
		"another's":        {version: "1", at: now.Add(-time.Hour), change: func(st *store.Store) { deleteTrace(t, st, "s2") }},
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
			runs := read(t, home)[0].spans
			if err := st.UploadTraces(t.Context(), append(slices.Clone(runs), traceOf("s1", runs[0]), traceOf("s2", runs[0]))); err != nil {
				t.Fatal(err)
			}
			if v := verdict("1", runs); !v.Complete {
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

// traceOf is another trace of a session of the agent of a run.
func traceOf(session string, like *tracepb.ResourceSpans) *tracepb.ResourceSpans {
	run := resource(rootSpan(0, 1, "completed"))
	run.Resource = like.Resource
	root := run.ScopeSpans[0].Spans[0]
	root.TraceId = fmt.Appendf(nil, "%016s", session)
	set(root, otlp.String(otelmap.KeyConversationID, session))
	set(root, otlp.String(otelmap.KeyHost, "claude-code"))
	return run
}

// deleteTrace deletes the trace that traceOf made.
func deleteTrace(t *testing.T, st *store.Store, session string) {
	t.Helper()
	if n, err := st.Delete(t.Context(), []string{hex.EncodeToString(fmt.Appendf(nil, "%016s", session))}); n != 1 || err != nil {
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

// TestVerdictOfADamagedFileHolds has a damaged file, and one that is changed behind the verdict,
// keeping its size and time. The next verdict names the damaged line and reads no more.
func TestVerdictOfADamagedFileHolds(t *testing.T) {
	home, now := t.TempDir(), time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "traces.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	write := func(session, text string) {
		t.Helper()
		path := filepath.Join(home, ".claude", "projects", "-w", session+".jsonl")
		transcripttest.Write(t, path, text)
		if err := os.Chtimes(path, now.Add(-time.Hour), now.Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	turn := func(session string) string { return reportedTurn(session, int(session[1]-'0')) }
	write("s1", turn("s1"))
	write("s2", turn("s2")+"{torn\n"+reportedTurn("s2", 5))
	write("s3", turn("s3"))
	for _, r := range read(t, home) {
		if err := st.UploadTraces(t.Context(), r.spans); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		change         func()
		unread, differ int
	}{
		{func() {}, 1, 0},
		{func() { write("s1", strings.Replace(turn("s1"), `"output_tokens":2`, `"output_tokens":9`, 1)) }, 1, 0},
		{func() { write("s3", strings.Replace(turn("s3"), `"output_tokens":2`, `"output_tokens":99`, 1)) }, 1, 2}, // all are read
		{func() {}, 1, 2},
	} {
		c.change()
		var all []importer.Session
		ids := []string{"s1", "s2", "s3"}
		for _, id := range ids {
			all = append(all, importer.Session{Session: transcript.Session{ID: id}})
		}
		check := NewImportCheck("claude-code", all)
		for _, id := range ids {
			check.Observe(id, importer.Skipped{AlreadyThere: 1}, nil)
		}
		v, err := check.Verdict(t.Context(), Place{
			Env: agentfiles.Env{Home: home}, Store: st, Version: "1", Now: now, Clean: func(text string) string { return text },
		})
		if err != nil || len(v.Unread) != c.unread || len(v.Differ) != c.differ || len(v.Gone) > 0 {
			t.Errorf("got %+v, %v", v, err)
		}
	}
}

// TestVerdictNamesAgainWhatIsNotEqual has verdicts of which the first leaves a session out, or finds
// something that is not equal. The next one says so, too, though no file has changed.
func TestVerdictNamesAgainWhatIsNotEqual(t *testing.T) {
	written := time.Date(2026, 1, 1, 0, 10, 0, 0, time.UTC)
	const unknown = `{"type":"future","sessionId":"s1","timestamp":"2026-01-01T00:00:00Z","usage":{}}` + "\n"
	second := strings.ReplaceAll(reportedTurn("s2", 2), `"id":"m`, `"id":"o`)
	for name, c := range map[string]struct {
		files map[string]string // by the sessions
		// stored has what the traces are made of, where that is not the files.
		stored      string
		known       string
		first, next string // the sessions of which the import says what is there
		age         time.Duration
		// change is between the verdicts.
		change func(*store.Store, []recording)
	}{
		"a session that was left out": {files: map[string]string{"s2": second}, stored: strings.Replace(second, `"output_tokens":2`, `"output_tokens":9`, 1), known: "s2", next: "s2"},
		"a session without files":     {stored: second, known: "s2", first: "s2", next: "s2"},
		"an unknown kind of row":      {files: map[string]string{"s2": second + unknown}, stored: second, known: "s2", first: "s2", next: "s2"},
		"a deleted trace of a session that the import does not know": {
			files: map[string]string{"s2": second}, stored: second, change: func(st *store.Store, all []recording) { removeTraces(t, st, all) },
		},
		"a session that was under way": {
			files: map[string]string{"s2": second + strings.ReplaceAll(reportedTurn("s2", 9), `"id":"m`, `"id":"p`)}, stored: second, known: "s2", first: "s2", next: "s2", age: 10 * time.Minute,
		},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "traces.db"))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = st.Close() }()
			path := func(session string) string { return filepath.Join(home, ".claude", "projects", "-w", session+".jsonl") }
			transcripttest.Write(t, path("s2"), c.stored)
			all := read(t, home)
			for _, r := range all {
				if err := st.UploadTraces(t.Context(), r.spans); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Remove(path("s2")); err != nil {
				t.Fatal(err)
			}
			for session, text := range c.files {
				transcripttest.Write(t, path(session), text)
				if err := os.Chtimes(path(session), written, written); err != nil {
					t.Fatal(err)
				}
			}
			verdict := func(at time.Time, read string) *ImportVerdict {
				t.Helper()
				var known []importer.Session
				for _, id := range strings.Fields(c.known) {
					known = append(known, importer.Session{Session: transcript.Session{ID: id}})
				}
				check := NewImportCheck("claude-code", known)
				for _, id := range strings.Fields(read) {
					check.Observe(id, importer.Skipped{AlreadyThere: 1}, nil)
				}
				v, err := check.Verdict(t.Context(), Place{
					Env: agentfiles.Env{Home: home}, Store: st, Version: "1", Now: at, Clean: func(text string) string { return text },
				})
				if err != nil {
					t.Fatal(err)
				}
				return v
			}
			verdict(written.Add(cmp.Or(c.age, 24*time.Hour)), c.first)
			if c.change != nil {
				c.change(st, all)
			}
			if v := verdict(written.Add(25*time.Hour), c.next); v.Complete {
				t.Errorf("complete: %+v", v)
			}
		})
	}
}

// removeTraces deletes the traces of recordings.
func removeTraces(t *testing.T, st *store.Store, all []recording) {
	t.Helper()
	for _, r := range all {
		for s := range otlp.Spans(r.spans) {
			if _, err := st.Delete(t.Context(), []string{otlp.TraceID(s)}); err != nil {
				t.Fatal(err)
			}
		}
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
