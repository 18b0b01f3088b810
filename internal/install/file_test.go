package install

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/skip"
)

// TestLookAtFileThatGoes looks at a file that another removes at any moment: it is there or
// it is missing, and never an error.
func TestLookAtFileThatGoes(t *testing.T) {
	if runtime.GOOS == "windows" {
		skip.Missing(t, "an open file cannot be removed")
	}
	path := filepath.Join(t.TempDir(), "settings.json.tmp")
	for range 5000 {
		if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
		removed := make(chan error)
		go func() { removed <- os.Remove(path) }()
		if _, err := Look(path); err != nil {
			t.Fatal(err)
		}
		if err := <-removed; err != nil {
			t.Fatal(err)
		}
	}
}
