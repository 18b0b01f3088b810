//go:build !windows

package transcript

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
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
		project := filepath.Join(f.Home, ".claude", "projects", "-work")
		replace(filepath.Join(project, claudeSession+claudeSuffix))
		ctx := t.Context()
		if tr, err := f.Classic(ctx, "1795174833149"); err == nil {
			t.Errorf("%s: classic task read: %+v", kind, tr)
		}
		if tr, err := f.SDK(ctx, id); err == nil {
			t.Errorf("%s: session read: %+v", kind, tr)
		}
		if tr, err := f.Next(ctx, "conv_1795174957999_x", "/work"); err == nil {
			t.Errorf("%s: conversation read: %+v", kind, tr)
		}
		if at, _, err := f.SDKEnd(ctx, id); err == nil {
			t.Errorf("%s: end read: %v", kind, at)
		}
		q := ClaudeQuery{Session: claudeSession, Path: filepath.Join(project, claudeSession+claudeSuffix)}
		if tr, err := f.Claude(ctx, q); err == nil {
			t.Errorf("%s: transcript read: %+v", kind, tr)
		}
		if _, _, err := f.ClaudeOrigin(ctx, q); err == nil {
			t.Errorf("%s: origin read", kind)
		}
		for name, list := range map[string]int{
			"tasks": count(f.ClassicTasks(ctx)), "sessions": count(f.SDKSessions(ctx)), "transcripts": count(f.ClaudeSessions(ctx)),
		} {
			if list != 0 {
				t.Errorf("%s: %d %s listed", kind, list, name)
			}
		}
	}
}

func count(found []SessionFile, err error) int {
	if err != nil {
		return -1
	}
	return len(found)
}
