package store

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/ramdir"
)

// TestManyOpenANewFileAtOnce lets openings meet in the middle of one another's
// making of the tables.
func TestManyOpenANewFileAtOnce(t *testing.T) {
	folder := ramdir.New(t)
	for round := range 20 {
		path := filepath.Join(folder, fmt.Sprint(round), "traces.db")
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				s, err := Open(t.Context(), path)
				if err != nil {
					t.Error(err)
					return
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
}
