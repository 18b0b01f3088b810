package rig

import (
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/skip"
	"github.com/hookspan/hookspan/tests/internal/built"
)

// Prepare returns the cache of the agents' programs, and a folder with the programs of
// hookspan for an agent whose hooks start the program hook. Under -short it skips the test.
func Prepare(t *testing.T, agent, hook string) (cache, bin string) {
	t.Helper()
	if testing.Short() {
		skip.Elsewhere(t, "drives the real %s; left out by -short", agent)
	}
	cache, err := DefaultCache()
	if err != nil {
		t.Fatal(err)
	}
	bin = t.TempDir()
	if err := built.Put(t.Context(), bin, "cmd/hookspan", "cmd/"+hook); err != nil {
		t.Fatal(err)
	}
	return cache, bin
}
