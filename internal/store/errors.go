package store

import (
	"errors"
	"fmt"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Errors that callers tell apart with errors.Is.
var (
	// ErrNotFound says that no stored trace has the id asked for.
	ErrNotFound = errors.New("no such trace")
	// ErrPrefix says that what was asked for cannot begin an id.
	ErrPrefix = errors.New("want at least 4 hex digits, and at most 32")
	// ErrAmbiguous says that several traces begin with the digits asked for;
	// the error is an *AmbiguousError.
	ErrAmbiguous = errors.New("ambiguous trace id")
	// ErrDamaged says that the file is not a readable SQLite database.
	ErrDamaged = errors.New("damaged trace store")
	// ErrForeign says that the file is a SQLite database of another program.
	ErrForeign = errors.New("not a trace store")
	// ErrNewer says that a newer hookspan has written the file.
	ErrNewer = errors.New("trace store of a newer version")
)

// maxCandidates is how many candidates an AmbiguousError names.
const maxCandidates = 10

// AmbiguousError names the traces that a prefix could mean.
type AmbiguousError struct {
	// Prefix is what was asked for.
	Prefix string
	// Candidates are the newest traces that begin with it, at most ten.
	Candidates []Summary
	// More reports that there are others.
	More bool
}

// Error lists the candidates, one to a line.
func (e *AmbiguousError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "trace id %q: %v: give more digits of one of", e.Prefix, ErrAmbiguous)
	for _, c := range e.Candidates {
		b.WriteString("\n  " + clean(c.TraceID) + "  " + clean(c.Title))
	}
	if e.More {
		b.WriteString("\n  and others")
	}
	return b.String()
}

// Is makes the error match ErrAmbiguous.
func (e *AmbiguousError) Is(target error) bool { return target == ErrAmbiguous }

// code gives SQLite's primary result code of err, or 0.
func code(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

func busy(err error) bool {
	c := code(err)
	return c == sqlite3.SQLITE_BUSY || c == sqlite3.SQLITE_LOCKED
}

// wrap gives an error of SQLite the file's name and, where there is one, the
// way out.
func (s *Store) wrap(doing string, err error) error {
	switch code(err) {
	case 0:
		return fmt.Errorf("trace store %q: %s: %w", s.path, doing, err)
	case sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT:
		return fmt.Errorf("trace store %q: %s: %w (%w): move the file and its -wal and -shm neighbours away; "+
			"a new one is made, and `sqlite3 FILE .recover` may save what the old one holds",
			s.path, doing, ErrDamaged, err)
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return fmt.Errorf("trace store %q: %s: another process has held the lock for %v: %w",
			s.path, doing, busyTimeout, err)
	case sqlite3.SQLITE_FULL:
		return fmt.Errorf("trace store %q: %s: the disk is full: %w", s.path, doing, err)
	case sqlite3.SQLITE_READONLY:
		return fmt.Errorf("trace store %q: %s: the file or its folder cannot be written to: %w", s.path, doing, err)
	}
	return fmt.Errorf("trace store %q: %s: %w", s.path, doing, err)
}
