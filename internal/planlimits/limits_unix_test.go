//go:build !windows

package planlimits

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/files/regular"
)

// TestOtherFilesAreRefused has a pipe and a link in place of the file: neither is waited for, and
// what the link names stays as it is.
func TestOtherFilesAreRefused(t *testing.T) {
	for name, make := range map[string]func(path, victim string) error{
		"a pipe":          func(path, _ string) error { return unix.Mkfifo(path, 0o600) },
		"a symbolic link": func(path, victim string) error { return os.Symlink(victim, path) },
		"a folder":        func(path, _ string) error { return os.Mkdir(path, 0o700) },
	} {
		f := file(t)
		victim := filepath.Join(t.TempDir(), "victim")
		err := errors.Join(os.MkdirAll(filepath.Dir(f.Path), 0o700), os.WriteFile(victim, []byte("text"), 0o600))
		if err = errors.Join(err, make(f.Path, victim)); err != nil {
			t.Fatal(err)
		}
		_, err = f.ByHost()
		for _, err := range []error{err, f.Note("codex", []hook.Limit{said(0, 1)})} {
			var refused *regular.Error
			if !errors.As(err, &refused) || refused.Found != name {
				t.Errorf("%s: %v", name, err)
			}
		}
		if b, err := os.ReadFile(victim); string(b) != "text" || err != nil {
			t.Errorf("%s: the other file is %q, %v", name, b, err)
		}
	}
}
