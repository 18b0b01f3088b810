package store

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestImportsAreDroppedWithTraces notes imports of three sessions, and removes or
// forgets traces of two.
func TestImportsAreDroppedWithTraces(t *testing.T) {
	s := open(t)
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	s.Now = func() time.Time { return now }
	note := func(session, stamp string) Import {
		return Import{Session: session, Host: "claude-code", Dialect: "claude", Stamp: stamp, Directory: "/p", There: 1, Captured: 2, Removed: 3}
	}
	const a, b = "a", "b"
	rooted(t, s, a, "/p", 0, time.Minute)
	other := rooted(t, s, b, "/p", 0, time.Minute)
	want := func(what string, notes ...Import) {
		t.Helper()
		got, err := s.Imports(t.Context(), "claude-code")
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(notes, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", what, d)
		}
	}
	put := func(notes ...Import) {
		t.Helper()
		if err := s.NoteImports(t.Context(), notes); err != nil {
			t.Fatal(err)
		}
	}
	put(note(a, "old"), note(b, "1"), note("c", "1"))
	put(note(a, "new"))
	want("noted", note(a, "new"), note(b, "1"), note("c", "1"))
	if got, err := s.Imports(t.Context(), "cline"); len(got) > 0 || err != nil {
		t.Errorf("another agent has %v, %v", got, err)
	}

	if err := s.Remove(t.Context(), other.Trace); err != nil {
		t.Fatal(err)
	}
	want("one trace removed", note(a, "new"), note("c", "1"))
	now = now.Add(time.Hour)
	if n, err := s.Prune(t.Context(), now); n != 1 || err != nil {
		t.Fatalf("pruned %d, %v", n, err)
	}
	want("all traces pruned", note("c", "1"))
	put(note(a, "pruned"))
	now = now.Add(keepRemoved + time.Hour)
	if _, err := s.Prune(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	want("the removed run forgotten", note("c", "1"))
}
