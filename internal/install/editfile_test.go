package install

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// editTo is an edit that gives the text, whatever it was.
func editTo(text string) func([]byte) ([]byte, error) {
	return func([]byte) ([]byte, error) { return []byte(text), nil }
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func wantText(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s holds %q, want %q", filepath.Base(path), got, want)
	}
}

func wantMode(t *testing.T, path string, want os.FileMode) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != want && runtime.GOOS != "windows" {
		t.Errorf("%s has mode %o, want %o", filepath.Base(path), got, want)
	}
}

func TestEditFileMakesOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "hooks.json")
	changed, backup, err := EditFile(path, func(old []byte) ([]byte, error) {
		if old != nil {
			t.Errorf("the text of no file is %q, want nil", old)
		}
		return []byte("{}"), nil
	})
	if err != nil || !changed || backup != "" {
		t.Errorf("changed %v, backup %q, error %v", changed, backup, err)
	}
	wantText(t, path, "{}")
	wantMode(t, path, 0o600)
}

func TestEditFileKeepsTheFirstText(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hooks.json")
	write(t, path, "one", 0o640)
	for _, text := range []string{"two", "three"} {
		changed, backup, err := EditFile(path, editTo(text))
		if err != nil || !changed || backup != path+".hookspan-backup" {
			t.Fatalf("changed %v, backup %q, error %v", changed, backup, err)
		}
		wantText(t, path, text)
		wantText(t, backup, "one")
	}
	wantMode(t, path, 0o640)
}

func TestEditFileLeavesAlone(t *testing.T) {
	broken := errors.New("broken")
	tests := map[string]struct {
		edit func(path string) func([]byte) ([]byte, error)
		want error
		text string
	}{
		"what is equal": {func(string) func([]byte) ([]byte, error) { return editTo("old") }, nil, "old"},
		"what the edit refuses": {func(string) func([]byte) ([]byte, error) {
			return func([]byte) ([]byte, error) { return []byte("x"), broken }
		}, broken, "old"},
		"what it gives no text for": {func(string) func([]byte) ([]byte, error) {
			return func([]byte) ([]byte, error) { return nil, nil }
		}, nil, "old"},
		"what somebody else changes meanwhile": {func(path string) func([]byte) ([]byte, error) {
			return func([]byte) ([]byte, error) { return []byte("x"), os.WriteFile(path, []byte("theirs"), 0o600) }
		}, ErrChanged, "theirs"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "hooks.json")
			write(t, path, "old", 0o600)
			changed, backup, err := EditFile(path, tt.edit(path))
			if changed || backup != "" || !errors.Is(err, tt.want) {
				t.Errorf("changed %v, backup %q, error %v, want %v", changed, backup, err, tt.want)
			}
			wantText(t, path, tt.text)
			if names, err := os.ReadDir(filepath.Dir(path)); err != nil || len(names) != 1 {
				t.Errorf("files %v, error %v, want one", names, err)
			}
		})
	}
}

func TestEditFileGoesThroughALink(t *testing.T) {
	dir := t.TempDir()
	target, path := filepath.Join(dir, "dotfiles", "hooks.json"), filepath.Join(dir, "hooks.json")
	write(t, target, "old", 0o600)
	if err := os.Symlink(target, path); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	if _, _, err := EditFile(path, editTo("new")); err != nil {
		t.Fatal(err)
	}
	wantText(t, target, "new")
	if !isLink(path) {
		t.Error("the link was replaced")
	}
	if err := os.Remove(target); err != nil {
		t.Fatal(err)
	}
	if _, _, err := EditFile(path, editTo("new")); err == nil || !strings.Contains(err.Error(), "points to nothing") {
		t.Errorf("a link to nothing: error %v", err)
	}
}
