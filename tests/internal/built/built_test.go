package built_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/tests/internal/built"
)

func TestPutCopiesWhatIsReadyAndBuildsTheRest(t *testing.T) {
	ready, dir := t.TempDir(), t.TempDir()
	t.Setenv(built.Folder, ready)
	if err := os.WriteFile(built.Program(ready, "cline-hook"), []byte("ready"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := built.Put(t.Context(), dir, "cmd/cline-hook", "cmd/hook-runner"); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(built.Program(dir, "cline-hook")); err != nil || string(text) != "ready" {
		t.Errorf("cline-hook holds %d bytes, error %v; want the program that was ready", len(text), err)
	}
	if _, err := exec.LookPath(built.Program(dir, "hook-runner")); err != nil {
		t.Errorf("hook-runner was not built: %v", err)
	}
}

func TestReadyRefusesAWrongFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(built.Program(dir, "hookspan"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ folder, want string }{
		"relative path":     {"bin", "absolute path"},
		"no folder":         {filepath.Join(dir, "none"), ""},
		"not set":           {"", ""},
		"folder as program": {dir, "want a program"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(built.Folder, c.folder)
			program, err := built.Ready("hookspan")
			if program != "" || (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("found %q, error %v, want %q", program, err, c.want)
			}
		})
	}
}
