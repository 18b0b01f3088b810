package store

import (
	"testing"
	"time"

	"github.com/hookspan/hookspan/otelmap"
)

// TestWritesOfATraceThatIsStoredAgain removes traces in each way and stores them again: what a page
// keeps of the first is not of the second.
func TestWritesOfATraceThatIsStoredAgain(t *testing.T) {
	rootless := newBuild("rootless")
	rootless.Tool(rootless.Root("task", otelmap.OutcomeCompleted, time.Second), "bash", `{}`, 0, time.Second)
	rootless.Spans = rootless.Spans[1:]
	for name, b := range map[string]*build{"a trace": ownTrace("a"), "one without a root": rootless} {
		for how, remove := range map[string]func(*Store, string) error{
			"Delete": func(s *Store, id string) error { _, err := s.Delete(t.Context(), []string{id}); return err },
			"Remove": func(s *Store, id string) error { return s.Remove(t.Context(), id) },
			"Prune":  func(s *Store, _ string) error { _, err := s.Prune(t.Context(), at(100*24*time.Hour)); return err },
		} {
			s := open(t)
			seen := make(map[int64]bool)
			for range 3 {
				upload(t, s, b.Messages())
				list, err := s.List(t.Context(), Filter{})
				if err != nil || len(list) != 1 {
					t.Fatal(list, err)
				}
				id := list[0].TraceID
				w, err := s.Writes(t.Context(), id)
				if err != nil || seen[w[id]] {
					t.Errorf("%s, %s: stored again it is version %d, as before, %v", name, how, w[id], err)
				}
				seen[w[id]] = true
				if err := remove(s, id); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
