//go:build !windows

package claude

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hookspan/hookspan/internal/transcript"
)

// TestReadingNeverWaitsForAPipe puts a pipe, and a link to an endless device, in
// the place of a transcript.
func TestReadingNeverWaitsForAPipe(t *testing.T) {
	put := map[string]func(string) error{
		"pipe":   func(path string) error { return unix.Mkfifo(path, 0o600) },
		"device": func(path string) error { return os.Symlink("/dev/zero", path) },
	}
	for kind, put := range put {
		f := newFinder(t)
		project := filepath.Join(f.Home, ".claude", "projects", "-work")
		path := filepath.Join(project, claudeSession+suffix)
		if err := os.MkdirAll(project, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := put(path); err != nil {
			t.Fatal(err)
		}
		q := transcript.Query{Session: claudeSession, Path: path}
		if tr, err := f.Read(t.Context(), Agent, q); err == nil {
			t.Errorf("%s: transcript read: %+v", kind, tr)
		}
		if _, _, err := f.Origin(t.Context(), Agent, q); err == nil {
			t.Errorf("%s: origin read", kind)
		}
		if found, err := f.Sessions(t.Context(), Agent); len(found) > 0 || err != nil {
			t.Errorf("%s: listed %v, error %v", kind, found, err)
		}
	}
}
