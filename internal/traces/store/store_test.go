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
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hookspan/hookspan/internal/testkit/skip"
)

func TestOnlyTheOwnerCanReadTheFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		skip.Missing(t, "Windows has no permission bits")
	}
	folder := filepath.Join(t.TempDir(), "state", "hookspan")
	path := filepath.Join(folder, "traces.db")
	s := openAt(t, path)
	upload(t, s, clineTrace().Messages())
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

func TestWidePermissionsAreRestricted(t *testing.T) {
	if runtime.GOOS == "windows" {
		skip.Missing(t, "Windows has no permission bits")
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

func TestPathsWithSpecialCharacters(t *testing.T) {
	for _, name := range []string{"a b", "q?mode=memory", "h#x", "100%41", "é", "a&b=c", "file:x"} {
		if runtime.GOOS == "windows" && strings.ContainsAny(name, "?:") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			s := openAt(t, filepath.Join(folder, name))
			upload(t, s, clineTrace().Messages())
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

func TestRelativePathIsMadeAbsolute(t *testing.T) {
	t.Chdir(t.TempDir())
	if s := openAt(t, "traces.db"); !filepath.IsAbs(s.path) {
		t.Errorf("path is %q", s.path)
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

func TestDatabaseSettings(t *testing.T) {
	s := open(t)
	for name, want := range map[string]string{
		"journal_mode": "wal", "synchronous": "2", "busy_timeout": "10000", "auto_vacuum": "2",
		"fullfsync": "1", "user_version": fmt.Sprint(schemaVersion),
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
	db := raw(t, path)
	for _, q := range statements {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// raw opens a database without Open.
func raw(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// filled makes a closed store with traces in it.
func filled(t *testing.T, path string) {
	t.Helper()
	s, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	upload(t, s, clineTrace().Messages())
	for i := range 50 {
		upload(t, s, ownTrace(fmt.Sprint(i)).Messages())
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

func TestForbiddenFilesAreNotChanged(t *testing.T) {
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
			database(t, path, fmt.Sprintf(`PRAGMA user_version = %d`, schemaVersion+1))
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
			for _, part := range []string{strconv.Quote(path), c.says} {
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

func TestDamageFoundLaterIsReported(t *testing.T) {
	path := filepath.Join(t.TempDir(), "traces.db")
	filled(t, path)
	s := openAt(t, path)
	damage(t, path, func(b []byte) []byte {
		// Every page but the first; the schema has been read.
		for i := 4096; i < len(b); i++ {
			b[i] = 0xa5
		}
		return b
	})
	_, errList := s.List(t.Context(), Filter{})
	_, errTrace := s.Trace(t.Context(), "")
	errUpload := s.UploadTraces(t.Context(), clineTrace().Messages())
	for name, err := range map[string]error{"List": errList, "Trace": errTrace, "UploadTraces": errUpload} {
		if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), strconv.Quote(path)) {
			t.Errorf("%s: got %v, want %v with the file's name", name, err, ErrDamaged)
		}
	}
}

func TestOpenNamesAnUnusablePath(t *testing.T) {
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
			if !strings.Contains(err.Error(), strconv.Quote(path)) {
				t.Errorf("error %q does not name %q", err, path)
			}
		})
	}
}

func TestOpenStopsWhenCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if s, err := Open(ctx, filepath.Join(t.TempDir(), "traces.db")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, %v, want %v", s, err, context.Canceled)
	}
}

func TestStatsCountWhatIsStored(t *testing.T) {
	s := open(t)
	for _, want := range []Stats{{}, {Traces: 2, Spans: int64(len(clineTrace().Spans) + 21), Newest: t0}} {
		got, err := s.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got.Bytes <= 0 {
			t.Errorf("%d bytes", got.Bytes)
		}
		if got.Bytes = 0; got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		upload(t, s, clineTrace().Messages())
		upload(t, s, ownTrace("a").Messages())
	}
}

func TestReadOnlyStoreSaysWhatToDo(t *testing.T) {
	s := open(t)
	s.db.SetMaxOpenConns(1)
	if _, err := s.db.ExecContext(t.Context(), `PRAGMA query_only = 1`); err != nil {
		t.Fatal(err)
	}
	err := s.UploadTraces(t.Context(), clineTrace().Messages())
	if err == nil || !strings.Contains(err.Error(), s.path) || !strings.Contains(err.Error(), "make both writable") {
		t.Errorf("%v, want an error that says what to do", err)
	}
}
