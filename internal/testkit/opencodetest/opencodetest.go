// Package opencodetest makes opencode's database of a recorded one, for tests.
package opencodetest

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/hookspan/hookspan/internal/files/regular"
)

// Write makes the database in a home folder of the statements in a file.
func Write(t testing.TB, home, statements string) (path string) {
	t.Helper()
	text, err := regular.Read(statements, regular.Options{})
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(home, ".local", "share", "opencode", "opencode.db")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	Exec(t, path, string(text))
	return path
}

// Exec executes statements in a database.
func Exec(t testing.TB, path, statements string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), statements); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// Open executes statements in a database, and leaves it open until the test ends, so that
// its write-ahead log stays.
func Open(t testing.TB, path, statements string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if _, err := db.ExecContext(t.Context(), statements); err != nil {
		t.Fatal(err)
	}
}
