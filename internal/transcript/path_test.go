package transcript

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// A path in a payload or a file is another program's text.
func TestOnlyAbsolutePathsOfThisMachineAreOpened(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile("session.jsonl", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	paths := map[string]bool{"session.jsonl": false, "./session.jsonl": false, "": false, filepath.Join(dir, "session.jsonl"): true}
	if runtime.GOOS == "windows" {
		paths[`\\127.0.0.1\share\session.jsonl`], paths["//127.0.0.1/share/session.jsonl"], paths[`\\?\UNC\127.0.0.1\c$\session.jsonl`] = false, false, false
	}
	for path, want := range paths {
		f, err := (&Files{Home: dir}).Open(t.Context(), path, 0)
		if err == nil {
			_ = f.Close()
		}
		if (err == nil) != want {
			t.Errorf("%q: error %v, want opened %v", path, err, want)
		}
	}
}
