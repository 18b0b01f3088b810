package store

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Errors that callers tell apart with errors.Is.
var (
	// ErrNotFound reports that no stored trace has the id.
	ErrNotFound = errors.New("no such trace")
	// ErrPrefix reports that the text cannot be the beginning of an id.
	ErrPrefix = errors.New("want at least 4 hex digits, and at most 32")
	// ErrAmbiguous reports that several trace ids begin with the digits; the error
	// is an *AmbiguousError.
	ErrAmbiguous = errors.New("ambiguous trace id")
	// ErrDamaged reports that the file is not a readable SQLite database.
	ErrDamaged = errors.New("damaged trace store")
	// ErrForeign reports that the file is another program's SQLite database.
	ErrForeign = errors.New("not a trace store")
	// ErrNewer reports that a newer hookspan has written the file.
	ErrNewer = errors.New("trace store of a newer version")
)

// AmbiguousError names the traces whose ids begin with a prefix.
type AmbiguousError struct {
	Prefix string
	// Candidates are the newest of these traces, at most maxCandidates.
	Candidates []Summary
	// More reports whether there are others.
	More bool
}

const maxCandidates = 10

// Error asks for more digits; it does not list the candidates.
func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("trace id %q: %v: give more digits", e.Prefix, ErrAmbiguous)
}

// Is makes the error match ErrAmbiguous.
func (e *AmbiguousError) Is(target error) bool { return target == ErrAmbiguous }

// wrap adds to an error the file's name and, if there is one, the remedy. It
// returns nil if err is nil.
func (s *Store) wrap(doing string, err error) error {
	if err == nil || errors.Is(err, ErrText) {
		return err
	}
	why := ""
	switch code := code(err); {
	case code == sqlite3.SQLITE_NOTADB, code == sqlite3.SQLITE_CORRUPT, errors.Is(err, errUndecodable):
		return fmt.Errorf("trace store %q: %s: %w (%w): move the file and its -wal and -shm neighbours away; "+
			"a new one is made, and `sqlite3 FILE .recover` may save what the old one holds",
			s.path, doing, ErrDamaged, err)
	case busy(err):
		why = fmt.Sprintf("another process has held the lock for %v: ", busyTimeout)
	case code == sqlite3.SQLITE_FULL:
		why = "the disk is full: "
	case code == sqlite3.SQLITE_READONLY:
		why = "the file or its folder cannot be written to, which SQLite needs even to read: make both writable (chmod u+w), " +
			"or copy the folder to a place that is and name it by XDG_STATE_HOME: "
	}
	return fmt.Errorf("trace store %q: %s: %s%w", s.path, doing, why, err)
}

// errUndecodable reports a row that no hookspan can have written.
var errUndecodable = errors.New("undecodable row")

func busy(err error) bool {
	c := code(err)
	return c == sqlite3.SQLITE_BUSY || c == sqlite3.SQLITE_LOCKED
}

// code returns SQLite's primary result code of err, or 0.
func code(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}
