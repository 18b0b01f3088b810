package store

import (
	"errors"
	"testing"
	"time"

	"github.com/hookspan/hookspan/otelmap"
)

// TestSumsOfAnotherVersion has a trace whose sums another version of hookspan has made: what
// asks for them says so, and an upload makes them anew.
func TestSumsOfAnotherVersion(t *testing.T) {
	s := open(t)
	b := newBuild("versions")
	root := b.Root("task", otelmap.OutcomeCompleted, time.Second)
	upload(t, s, b.Messages())
	ask := func() error {
		_, err := s.Totals(t.Context(), Filter{Limit: -1})
		return err
	}
	if err := ask(); err != nil {
		t.Fatal(err)
	}
	for version, newer := range map[int]bool{digestVersion + 1: true, digestVersion - 1: false} {
		if _, err := s.db.ExecContext(t.Context(), `UPDATE traces SET facts = cast(char(?) || substr(facts, 2) AS BLOB)`, version); err != nil {
			t.Fatal(err)
		}
		if err := ask(); err == nil || errors.Is(err, ErrNewer) != newer {
			t.Errorf("sums of version %d: error %v", version, err)
		}
		b.Tool(root, "read_file", "{}", 0, time.Duration(version)*time.Millisecond)
		upload(t, s, b.Messages())
		if err := ask(); err != nil {
			t.Errorf("after an upload to sums of version %d: %v", version, err)
		}
	}
}
