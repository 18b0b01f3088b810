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
	root := b.root("task", otelmap.OutcomeCompleted, time.Second)
	b.tool(root, "read_file", `{"path":"grün.txt"}`, 0, time.Millisecond)
	upload(t, s, b.messages())
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
