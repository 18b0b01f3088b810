package store

import (
	"testing"
	"time"

	"github.com/hookspan/hookspan/otelmap"
)

// TestLettersOfAnotherVersion has a full text that a program with other tables of letters
// made: a word that these cut differently could never be removed again.
func TestLettersOfAnotherVersion(t *testing.T) {
	s := open(t)
	b := newBuild("letters")
	root := b.Root("task", otelmap.OutcomeCompleted, time.Second)
	b.Tool(root, "read_file", `{"path":"grün.txt"}`, 0, time.Millisecond)
	upload(t, s, b.Messages())
	if _, err := s.Index(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{
		`UPDATE letters SET version = 'Unicode 1.0'`,
		// As a program that took ü for a sign would have written it.
		`INSERT INTO words (words) VALUES ('delete-all')`,
		`INSERT INTO words (rowid, text) SELECT id, 'gr n txt' FROM spans`,
	} {
		if _, err := s.db.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	path := s.path
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // The second time nothing is left to do.
		s, err := Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.Close() }()
		for text, want := range map[string]int{"grün": 1, `"gr n"`: 0} {
			found, err := s.List(t.Context(), Filter{Text: text, Limit: -1})
			if err != nil {
				t.Fatal(err)
			}
			if len(found) != want {
				t.Errorf("%d traces have %s, want %d", len(found), text, want)
			}
		}
	}
}

// TestLettersDoNotKeepFromReading reads while another process writes, and the full text is of other
// tables of letters.
func TestLettersDoNotKeepFromReading(t *testing.T) {
	s := open(t)
	upload(t, s, ownTrace("a").Messages())
	if _, err := s.db.ExecContext(t.Context(), `UPDATE letters SET version = 'Unicode 1.0'`); err != nil {
		t.Fatal(err)
	}
	tx, err := s.begin(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer rollback(tx)
	other, err := Open(t.Context(), s.path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	if list, err := other.List(t.Context(), Filter{}); err != nil || len(list) != 1 {
		t.Errorf("%+v, %v, want the trace", list, err)
	}
}

// TestLettersThatChangeWhileTheStoreIsOpen has another program make the full text anew by its own
// tables of letters. What this one then adds, replaces or removes leaves no word of either behind.
func TestLettersThatChangeWhileTheStoreIsOpen(t *testing.T) {
	task := func(path string) *build {
		b := newBuild("letters")
		root := b.Root("task", otelmap.OutcomeCompleted, time.Second)
		b.Tool(root, "read_file", `{"path":"`+path+`"}`, 0, time.Millisecond)
		return b
	}
	for name, change := range map[string]func(*Store) error{
		"replace": func(s *Store) error { return s.UploadTraces(t.Context(), task("new.txt").Messages()) },
		"delete": func(s *Store) error {
			list, err := s.List(t.Context(), Filter{})
			if err == nil {
				_, err = s.Delete(t.Context(), []string{list[0].TraceID})
			}
			return err
		},
		"add": func(s *Store) error {
			upload(t, s, ownTrace("a").Messages())
			_, err := s.Index(t.Context(), 0)
			return err
		},
	} {
		s := open(t)
		upload(t, s, task("grün.txt").Messages())
		if _, err := s.Index(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		for _, q := range []string{
			`UPDATE letters SET version = 'Unicode 99'`,
			`INSERT INTO words (words) VALUES ('delete-all')`,
			`INSERT INTO words (rowid, text) SELECT id, 'gr n txt' FROM spans`,
		} {
			if _, err := s.db.ExecContext(t.Context(), q); err != nil {
				t.Fatal(err)
			}
		}
		if err := change(s); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := s.Index(t.Context(), 0); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var left int
		if err := s.db.QueryRowContext(t.Context(), `SELECT count(*) FROM words WHERE words MATCH 'gr'`).Scan(&left); err != nil || left != 0 {
			t.Errorf("%s: %d spans have the word of the other program, %v", name, left, err)
		}
		want := map[string]int{"replace": 0, "delete": 0, "add": 1}[name]
		if found, err := s.List(t.Context(), Filter{Text: "grün", Limit: -1}); err != nil || len(found) != want {
			t.Errorf("%s: %d traces have grün, want %d, %v", name, len(found), want, err)
		}
	}
}
