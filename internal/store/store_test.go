package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheFileIsTheOwnersAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no permission bits")
	}
	folder := filepath.Join(t.TempDir(), "state", "hookspan")
	path := filepath.Join(folder, "traces.db")
	s := openAt(t, path)
	export(t, s, clineTrace().spans)
	want := map[string]fs.FileMode{folder: 0o700, path: 0o600, path + "-wal": 0o600, path + "-shm": 0o600}
	for name, mode := range want {
		fi, err := os.Stat(name)
		if err != nil {
			t.Error(err)
		} else if got := fi.Mode().Perm(); got != mode {
			t.Errorf("%s has mode %v, want %v", name, got, mode)
		}
	}
}

func TestAWideFileIsNarrowed(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no permission bits")
	}
	path := filepath.Join(t.TempDir(), "traces.db")
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	openAt(t, path)
	fi, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := fi.Mode().Perm(); got&0o077 != 0 {
		t.Errorf("mode is %v, want nothing for group and others", got)
	}
}

func TestPathsThatAreNoPlainWords(t *testing.T) {
	for _, name := range []string{"a b", "q?mode=memory", "h#x", "100%41", "é", "a&b=c", "file:x"} {
		if runtime.GOOS == "windows" && strings.ContainsAny(name, "?:") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			s := openAt(t, filepath.Join(folder, name))
			export(t, s, clineTrace().spans)
			if err := s.db.PingContext(t.Context()); err != nil {
				t.Fatal(err)
			}
			entries, err := os.ReadDir(folder)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range entries {
				got = append(got, e.Name())
			}
			if d := cmp.Diff([]string{name, name + "-shm", name + "-wal"}, got); d != "" {
				t.Errorf("files (-want +got):\n%s", d)
			}
		})
	}
}

func TestARelativePathIsMadeAbsolute(t *testing.T) {
	t.Chdir(t.TempDir())
	if s := openAt(t, "traces.db"); !filepath.IsAbs(s.Path()) {
		t.Errorf("path is %q", s.Path())
	}
}

// pragma reads a pragma of a new connection.
func pragma(t *testing.T, s *Store, name string) (v string) {
	t.Helper()
	if err := s.db.QueryRowContext(t.Context(), "PRAGMA "+name).Scan(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestHowTheDatabaseIsSetUp(t *testing.T) {
	s := open(t)
	for name, want := range map[string]string{
		"journal_mode": "wal", "synchronous": "2", "busy_timeout": "10000", "auto_vacuum": "2",
		"foreign_keys": "1", "fullfsync": "1", "user_version": fmt.Sprint(len(migrations)),
		"application_id": fmt.Sprint(applicationID), "integrity_check": "ok",
	} {
		if got := pragma(t, s, name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

// database makes a SQLite database with the given statements.
func database(t *testing.T, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range statements {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// filled makes a closed store with traces in it.
func filled(t *testing.T, path string) {
	t.Helper()
	s, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	export(t, s, clineTrace().spans)
	for i := range 50 {
		export(t, s, ownTrace(fmt.Sprint(i)).spans)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func damage(t *testing.T, path string, f func([]byte) []byte) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, f(data), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestFilesThatMustNotBeTouched(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(t *testing.T, path string)
		want error
		says string
	}{
		{"text", func(t *testing.T, path string) {
			damage(t, makeEmpty(t, path), func([]byte) []byte { return []byte(strings.Repeat("not a database\n", 100)) })
		}, ErrDamaged, "move the file"},
		{"a short text", func(t *testing.T, path string) {
			damage(t, makeEmpty(t, path), func([]byte) []byte { return []byte("hi") })
		}, ErrDamaged, "move the file"},
		{"a header overwritten", func(t *testing.T, path string) {
			filled(t, path)
			damage(t, path, func(b []byte) []byte { copy(b, strings.Repeat("x", 100)); return b })
		}, ErrDamaged, "move the file"},
		{"a file cut to its header", func(t *testing.T, path string) {
			filled(t, path)
			damage(t, path, func(b []byte) []byte { return b[:100] })
		}, ErrDamaged, "move the file"},
		{"a schema overwritten", func(t *testing.T, path string) {
			filled(t, path)
			damage(t, path, func(b []byte) []byte { copy(b[100:4096], strings.Repeat("\xa5", 4096)); return b })
		}, ErrDamaged, "move the file"},
		{"another program's database", func(t *testing.T, path string) {
			database(t, path, `CREATE TABLE theirs (x)`, `INSERT INTO theirs VALUES (1)`)
		}, ErrForeign, "another program"},
		{"another program's application id", func(t *testing.T, path string) {
			database(t, path, `PRAGMA application_id = 7`, `PRAGMA user_version = 1`, `CREATE TABLE spans (x)`)
		}, ErrForeign, "application id 7"},
		{"a newer version", func(t *testing.T, path string) {
			filled(t, path)
			database(t, path, fmt.Sprintf(`PRAGMA user_version = %d`, len(migrations)+1))
		}, ErrNewer, "update hookspan"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "traces.db")
			c.make(t, path)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			s, err := Open(t.Context(), path)
			if err == nil {
				t.Fatal(errors.Join(errors.New("the file was opened"), s.Close()))
			}
			if !errors.Is(err, c.want) {
				t.Errorf("got error %v, want %v", err, c.want)
			}
			for _, part := range []string{path, c.says} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q does not say %q", err, part)
				}
			}
			after, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if string(before) != string(after) {
				t.Error("the file was changed")
			}
		})
	}
}

func makeEmpty(t *testing.T, path string) string {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDamageFoundLaterIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "traces.db")
	filled(t, path)
	damage(t, path, func(b []byte) []byte {
		// Every page but the first, which holds the schema.
		for i := 4096; i < len(b); i++ {
			b[i] = 0xa5
		}
		return b
	})
	s := openAt(t, path)
	_, errList := s.List(t.Context(), Filter{})
	_, errTrace := s.Trace(t.Context(), "")
	errExport := s.ExportSpans(t.Context(), clineTrace().spans.Snapshots())
	for name, err := range map[string]error{"List": errList, "Trace": errTrace, "ExportSpans": errExport} {
		if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %v, want %v with the file's name", name, err, ErrDamaged)
		}
	}
}

func TestPlacesThatCannotHoldAStore(t *testing.T) {
	folder := t.TempDir()
	file := makeEmpty(t, filepath.Join(folder, "file"))
	for name, path := range map[string]string{
		"a folder":     folder,
		"below a file": filepath.Join(file, "traces.db"),
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Open(t.Context(), path)
			if err == nil {
				t.Fatal(errors.Join(errors.New("it was opened"), s.Close()))
			}
			if !strings.Contains(err.Error(), path) {
				t.Errorf("error %q does not name %q", err, path)
			}
		})
	}
}

func TestOpenStopsWhenToldTo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if s, err := Open(ctx, filepath.Join(t.TempDir(), "traces.db")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, %v, want %v", s, err, context.Canceled)
	}
}

func TestMigrationsRunForwardAndOnce(t *testing.T) {
	s := open(t)
	export(t, s, clineTrace().spans)
	before := everything(t, s)
	next := append(migrations[:len(migrations):len(migrations)], `ALTER TABLE traces ADD COLUMN extra TEXT`)
	for range 2 {
		if err := s.migrate(t.Context(), next); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := pragma(t, s, "user_version"), fmt.Sprint(len(next)); got != want {
		t.Errorf("version is %s, want %s", got, want)
	}
	if d := cmp.Diff(before, everything(t, s), equalSpans); d != "" {
		t.Errorf("the traces changed (-before +after):\n%s", d)
	}
	if _, err := Open(t.Context(), s.Path()); !errors.Is(err, ErrNewer) {
		t.Errorf("got %v, want %v", err, ErrNewer)
	}
}

// TestAStoreOfVersion1IsBroughtUpToDate opens what hookspan wrote before the
// store knew when a trace was stored.
func TestAStoreOfVersion1IsBroughtUpToDate(t *testing.T) {
	old, err := os.ReadFile(filepath.Join("testdata", "version-1.sql"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "traces.db")
	database(t, path, string(old))
	s := openAt(t, path)
	if v := pragma(t, s, "user_version"); v != fmt.Sprint(len(migrations)) {
		t.Errorf("version is %s, want %d", v, len(migrations))
	}
	got := everything(t, s)
	if len(got) != 1 || got[0].Title != "do the work" || len(got[0].Spans) != 2 {
		t.Fatalf("got %+v", got)
	}
	end := got[0].Ended
	if n, err := s.Prune(t.Context(), end); n != 0 || err != nil {
		t.Errorf("it ended then: removed %d, %v", n, err)
	}
	// When it was stored is not known: its end counts, as before.
	if n, err := s.Prune(t.Context(), end.Add(1)); n != 1 || err != nil {
		t.Errorf("it had ended: removed %d, %v", n, err)
	}
	roots, err := s.Conversation(t.Context(), got[0].Session)
	if err != nil || len(roots) != 1 || roots[0].Trace != got[0].TraceID || !roots[0].Removed {
		t.Errorf("what was removed is %+v, %v", roots, err)
	}
}

func TestAMigrationThatFailsLeavesTheOldVersion(t *testing.T) {
	s := open(t)
	export(t, s, clineTrace().spans)
	err := s.migrate(t.Context(), append(migrations[:len(migrations):len(migrations)], `CREATE TABLE extra (x); SELECT broken`))
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("version %d", len(migrations)+1)) {
		t.Errorf("got %v, want an error that names the version", err)
	}
	again := openAt(t, s.Path())
	if len(everything(t, again)) != 1 || pragma(t, again, "user_version") != fmt.Sprint(len(migrations)) {
		t.Error("the store is not as before")
	}
}

func TestStatsCountWhatIsStored(t *testing.T) {
	s := open(t)
	empty, err := s.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if empty.Traces != 0 || empty.Spans != 0 || !empty.Oldest.IsZero() || !empty.Newest.IsZero() {
		t.Errorf("of an empty store: %+v", empty)
	}
	export(t, s, clineTrace().spans)
	export(t, s, ownTrace("a").spans)
	got, err := s.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got.Bytes < 10_000 {
		t.Errorf("%d bytes", got.Bytes)
	}
	want := Stats{
		Path: s.Path(), SchemaVersion: len(migrations), Traces: 2,
		Spans: int64(len(clineTrace().spans) + 21), Bytes: got.Bytes, Oldest: t0, Newest: t0,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("stats (-want +got):\n%s", d)
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
