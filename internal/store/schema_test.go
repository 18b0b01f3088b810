package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/otlp/otlpjson"
	"github.com/hookspan/hookspan/otelmap"
)

func TestMigrationsRunForwardAndOnce(t *testing.T) {
	s := open(t)
	upload(t, s, clineTrace().messages())
	before := everything(t, s)
	next := append(migrations[:len(migrations):len(migrations)], migration{sql: `ALTER TABLE traces ADD COLUMN extra TEXT`})
	for range 2 {
		if err := s.migrate(t.Context(), next); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := pragma(t, s, "user_version"), fmt.Sprint(len(next)); got != want {
		t.Errorf("version is %s, want %s", got, want)
	}
	if d := cmp.Diff(before, everything(t, s), protocmp.Transform()); d != "" {
		t.Errorf("the traces changed (-before +after):\n%s", d)
	}
	if _, err := Open(t.Context(), s.path); !errors.Is(err, ErrNewer) {
		t.Errorf("got %v, want %v", err, ErrNewer)
	}
}

// TestVersion1IsMigrated opens a store without the column stored.
func TestVersion1IsMigrated(t *testing.T) {
	s := openAt(t, oldStore(t, 1))
	if v := pragma(t, s, "user_version"); v != fmt.Sprint(len(migrations)) {
		t.Errorf("version is %s, want %d", v, len(migrations))
	}
	got := everything(t, s)
	if len(got) != 1 || got[0].Title != "do the work" || otlp.Count(got[0].ResourceSpans) != 2 {
		t.Fatalf("got %+v", got)
	}
	end := got[0].Ended
	if n, err := s.Prune(t.Context(), end); n != 0 || err != nil {
		t.Errorf("at its end: removed %d, %v", n, err)
	}
	// The end counts, because the time of storing is unknown.
	if n, err := s.Prune(t.Context(), end.Add(1)); n != 1 || err != nil {
		t.Errorf("after its end: removed %d, %v", n, err)
	}
	roots, err := s.Conversation(t.Context(), got[0].Session)
	if err != nil || len(roots) != 1 || roots[0].Trace != got[0].TraceID || !roots[0].Removed {
		t.Errorf("removed runs are %+v, %v", roots, err)
	}
}

func TestFailedMigrationLeavesTheOldVersion(t *testing.T) {
	s := open(t)
	upload(t, s, clineTrace().messages())
	err := s.migrate(t.Context(), append(migrations[:len(migrations):len(migrations)], migration{sql: `CREATE TABLE extra (x); SELECT broken`}))
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("version %d", len(migrations)+1)) {
		t.Errorf("got %v, want an error that names the version", err)
	}
	again := openAt(t, s.path)
	if len(everything(t, again)) != 1 || pragma(t, again, "user_version") != fmt.Sprint(len(migrations)) {
		t.Error("the store is not as before")
	}
}

// oldStore makes the file that an earlier version left.
func oldStore(t *testing.T, version int) string {
	t.Helper()
	old, err := os.ReadFile(filepath.Join("testdata", fmt.Sprintf("version-%d.sql", version)))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "traces.db")
	database(t, path, string(old))
	return path
}

// TestVersion2IsMigrated opens a store with JSON in it: clineTrace, a span with
// every field, one with ids only, a call with hooks, and a removed run.
func TestVersion2IsMigrated(t *testing.T) {
	s := openAt(t, oldStore(t, 2))
	got := everything(t, s)
	if len(got) != 4 {
		t.Fatalf("%d traces, want 4", len(got))
	}
	fresh := stored(t, clineTrace().messages())
	inNamesOfVersion2(fresh)
	if d := cmp.Diff(fresh, traceOf(t, got, fresh.TraceID), protocmp.Transform()); d != "" {
		t.Errorf("clineTrace (-uploaded today +migrated):\n%s", d)
	}
	doc, err := otlpjson.Encode(traceOf(t, got, newBuild("full").traceID()).ResourceSpans)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "version-2.json", string(doc)+"\n")
	if bare := traceOf(t, got, newBuild("bare").traceID()); otlp.Count(bare.ResourceSpans) != 1 || !bare.Started.IsZero() {
		t.Errorf("the span with ids only: %+v", bare)
	}
	roots, err := s.Conversation(t.Context(), "1772619300123")
	if err != nil || len(roots) != 3 || !roots[2].Removed {
		t.Errorf("runs of the session: %+v, %v", roots, err)
	}
	// The time of storing did not change.
	if n, err := s.Prune(t.Context(), t0.Add(1)); n != 1 || err != nil {
		t.Errorf("pruned %d, %v, want the trace that never ended", n, err)
	}
	var check string
	if err := s.db.QueryRowContext(t.Context(), `PRAGMA foreign_key_check`).Scan(&check); err == nil {
		t.Errorf("a foreign key points to no row: %s", check)
	}
	if got := pragma(t, s, "integrity_check"); got != "ok" {
		t.Errorf("integrity check: %s", got)
	}
}

// inNamesOfVersion2 renames the attributes that had other names then: a migration changes
// none.
func inNamesOfVersion2(tr *Trace) {
	for s := range otlp.Spans(tr.ResourceSpans) {
		for _, kv := range s.Attributes {
			switch one := []*commonpb.KeyValue{kv}; kv.Key {
			case otelmap.KeyInputMessages:
				kv.Key, kv.Value = "hookspan.task", otlp.String("", otelmap.Task(one)).Value
			case otelmap.KeyOutputMessages:
				key := "hookspan.result"
				if RoleOf(s.Attributes) == RoleChat {
					key = "hookspan.text"
				}
				kv.Key, kv.Value = key, otlp.String("", otelmap.Answer(one)).Value
			case otelmap.KeyAgent:
				kv.Key = "gen_ai.agent.id"
			}
		}
	}
}

func traceOf(t *testing.T, traces []*Trace, id string) *Trace {
	t.Helper()
	for _, tr := range traces {
		if tr.TraceID == id {
			return tr
		}
	}
	t.Fatalf("no trace %s", id)
	return nil
}

func TestOldVersionRejectsNewerStore(t *testing.T) {
	s := open(t)
	upload(t, s, clineTrace().messages())
	err := s.migrate(t.Context(), migrations[:2])
	if !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), "update hookspan") {
		t.Errorf("got %v, want %v with the remedy", err, ErrNewer)
	}
	if _, err := s.db.ExecContext(t.Context(), `INSERT INTO spans (trace, span_id, body) VALUES (1, 'x', '{}')`); err == nil {
		t.Error("a process of an older version that has the file open can write JSON into it")
	}
}

func TestUndecodableRowStopsTheMigration(t *testing.T) {
	for _, table := range []string{"origins", "spans"} {
		path := oldStore(t, 2)
		database(t, path, `UPDATE `+table+` SET body = substr(body, 1, 20) WHERE rowid = 2`)
		_, err := Open(t.Context(), path)
		if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "row 2") || !strings.Contains(err.Error(), "move the file") {
			t.Errorf("%s: got %v, want %v with the row and the remedy", table, err, ErrDamaged)
		}
		version := ""
		if err := raw(t, path).QueryRowContext(t.Context(), `PRAGMA user_version`).Scan(&version); err != nil || version != "2" {
			t.Errorf("%s: version %q, %v, want 2", table, version, err)
		}
	}
}

// TestMigrationSurvivesAKilledProcess kills a process after the conversion and
// before the commit.
func TestMigrationSurvivesAKilledProcess(t *testing.T) {
	for version, want := range map[int]int{2: 4, 4: 2} {
		path := oldStore(t, version)
		runChild(t, path, crashInMigration)
		var left string
		if err := raw(t, path).QueryRowContext(t.Context(), `PRAGMA user_version`).Scan(&left); err != nil || left != fmt.Sprint(version) {
			t.Errorf("the killed process left version %s, %v, want %d", left, err, version)
		}
		s := openAt(t, path)
		if got := everything(t, s); len(got) != want {
			t.Errorf("%d traces, want %d", len(got), want)
		}
	}
}

// TestMigratedStoreAnswersLikeANewOne opens stores with and without the table of
// imports: a call with a hook that denied it, clineTrace, and a removed run.
func TestMigratedStoreAnswersLikeANewOne(t *testing.T) {
	for _, version := range []int{3, 4} {
		s := openAt(t, oldStore(t, version))
		var m memory = everything(t, s)
		if len(m) != 2 {
			t.Fatalf("version %d: %d traces, want 2", version, len(m))
		}
		fresh := stored(t, clineTrace().messages())
		inNamesOfVersion2(fresh)
		if d := cmp.Diff(fresh, traceOf(t, m, fresh.TraceID), protocmp.Transform()); d != "" {
			t.Errorf("version %d: clineTrace (-uploaded today +migrated):\n%s", version, d)
		}
		for _, by := range Keys {
			got, err := s.Group(t.Context(), Filter{}, by, time.UTC)
			if d := cmp.Diff(m.group(Filter{}, by, time.UTC), got, cmpopts.EquateApprox(0, 1e-9)); d != "" || err != nil {
				t.Errorf("version %d: by %s: %v (-from the spans +from the store):\n%s", version, by, err, d)
			}
		}
		runs, err := s.HookRuns(t.Context(), Filter{})
		if d := cmp.Diff(m.hookRuns(Filter{}), runs); d != "" || len(runs) != 1 || err != nil {
			t.Errorf("version %d: hook runs: %v (-from the spans +from the store):\n%s", version, err, d)
		}
		roots, err := s.Conversation(t.Context(), "1772619300123")
		if err != nil || len(roots) != 3 || !roots[2].Removed {
			t.Errorf("version %d: runs of the session: %+v, %v", version, roots, err)
		}
		if got := pragma(t, s, "integrity_check"); got != "ok" {
			t.Errorf("integrity check: %s", got)
		}
		// A span that changes after the migration.
		upload(t, s, clineTrace().messages())
		if again := everything(t, s); len(again) != 2 {
			t.Errorf("version %d: %d traces after an upload", version, len(again))
		}
	}
}

func TestSeveralProcessesMigrateAtOnce(t *testing.T) {
	path := oldStore(t, 2)
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() { runChild(t, path, fmt.Sprint(i)) })
	}
	wg.Wait()
	if got := everything(t, openAt(t, path)); len(got) != 4+6 {
		t.Errorf("%d traces, want those of the old store and one of each process", len(got))
	}
}

// TestManyOpenANewFileAtOnce lets openings meet in the middle of one another's
// first migration.
func TestManyOpenANewFileAtOnce(t *testing.T) {
	folder := t.TempDir()
	for round := range 20 {
		path := filepath.Join(folder, fmt.Sprint(round), "traces.db")
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				s, err := Open(t.Context(), path)
				if err != nil {
					t.Error(err)
					return
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
}

// TestVersion5IsMigrated opens a store that counts denials as failures.
func TestVersion5IsMigrated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "traces.db")
	s, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	upload(t, s, clineTrace().messages())
	want := everything(t, s)
	if len(want) != 1 || want[0].ToolDenials == 0 || want[0].ToolFailures == 0 {
		t.Fatalf("no denial and failure in %+v", want)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	database(t, path, `
		UPDATE traces SET tool_failures = tool_failures + tool_denials;
		ALTER TABLE traces DROP COLUMN tool_denials;
		PRAGMA user_version = 5`)
	if d := cmp.Diff(want, everything(t, openAt(t, path)), protocmp.Transform()); d != "" {
		t.Errorf("the traces changed (-want +got):\n%s", d)
	}
}
