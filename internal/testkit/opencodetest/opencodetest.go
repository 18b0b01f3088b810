// Package opencodetest makes the database of opencode, or of a fork, of a recorded one, for tests.
package opencodetest

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/hookspan/hookspan/internal/files/regular"
)

// Make makes the database in a home folder of the statements in a file, whose name is the
// agent's.
func Make(ctx context.Context, home, statements string) (path string, err error) {
	text, err := regular.Read(statements, regular.Options{})
	if err != nil {
		return "", err
	}
	word := strings.TrimSuffix(filepath.Base(statements), ".sql")
	path = filepath.Join(home, ".local", "share", word, word+".db")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	return path, execute(ctx, path, "PRAGMA synchronous = OFF;\n"+string(text))
}

func execute(ctx context.Context, path, statements string) error {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, statements)
	return errors.Join(err, db.Close())
}

// Write is Make in a test.
func Write(t testing.TB, home, statements string) (path string) {
	t.Helper()
	path, err := Make(t.Context(), home, statements)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Exec executes statements in a database.
func Exec(t testing.TB, path, statements string) {
	t.Helper()
	if err := execute(t.Context(), path, statements); err != nil {
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
