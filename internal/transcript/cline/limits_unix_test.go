//go:build !windows

package cline

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hookspan/hookspan/internal/transcript"
)

// TestReadingNeverWaitsForAPipe puts a pipe, and a link to an endless device, in
// the place of each file that an agent writes.
func TestReadingNeverWaitsForAPipe(t *testing.T) {
	put := map[string]func(string) error{
		"pipe":   func(path string) error { return unix.Mkfifo(path, 0o600) },
		"device": func(path string) error { return os.Symlink("/dev/zero", path) },
	}
	for kind, put := range put {
		f := newFinder(t)
		replace := func(path string) {
			t.Helper()
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := put(path); err != nil {
				t.Fatal(err)
			}
		}
		task := filepath.Join(f.Home, ".cline", "data", "tasks", "1795174833149")
		for _, name := range []string{uiFile, historyFile, metadataFile} {
			replace(filepath.Join(task, name))
		}
		replace(filepath.Join(f.Home, ".cline", "data", filepath.FromSlash(taskIndex)))
		const id = "1795174957841_0jeru"
		session := filepath.Join(f.Home, ".cline", "data", "sessions", id)
		replace(filepath.Join(session, id+".json"))
		replace(filepath.Join(session, id+messagesSuffix))
		replace(filepath.Join(session, "agent-1"+messagesSuffix))
		ctx := t.Context()
		if tr, err := query(ctx, f, DialectClassic, "1795174833149"); err == nil {
			t.Errorf("%s: classic task read: %+v", kind, tr)
		}
		if tr, err := query(ctx, f, DialectSDK, id); err == nil {
			t.Errorf("%s: session read: %+v", kind, tr)
		}
		if tr, err := f.Read(ctx, Agent, transcript.Query{Session: "conv_1795174957999_x", Dialect: DialectNext, Cwd: "/work"}); err == nil {
			t.Errorf("%s: conversation read: %+v", kind, tr)
		}
		if at, _, err := f.End(ctx, Agent, transcript.Query{Session: id, Dialect: DialectSDK}); err == nil {
			t.Errorf("%s: end read: %v", kind, at)
		}
		if found, err := f.Sessions(ctx, Agent); len(found) > 0 || err != nil {
			t.Errorf("%s: listed %v, error %v", kind, found, err)
		}
	}
}
