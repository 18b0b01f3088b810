//go:build !windows

package atomicfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hookspan/hookspan/internal/files/atomicfile"
	"github.com/hookspan/hookspan/internal/testkit/skip"
)

func TestReplacementOfAFileWithOtherNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "settings.json")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(path, []byte("new"), atomicfile.Options{OneName: true}); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(path, path+"2"); err != nil {
		t.Fatal(err)
	}
	err := atomicfile.Write(path, []byte("newer"), atomicfile.Options{OneName: true})
	if err == nil || !strings.Contains(err.Error(), "2 names") {
		t.Errorf("error %v, want one about 2 names", err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "new" {
		t.Errorf("content %q, %v, want it unchanged", got, err)
	}
}

func TestRootKeepsTheOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		skip.Missing(t, "needs root, who alone may give files away")
	}
	const user = 12345
	home := t.TempDir()
	if err := os.Chown(home, user, user); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(home, "a", "b")
	if err := atomicfile.MakeFolders(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	created, replaced := filepath.Join(dir, "created"), filepath.Join(dir, "replaced")
	if err := atomicfile.Create(created, nil, atomicfile.Options{}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := atomicfile.Write(replaced, nil, atomicfile.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{filepath.Dir(dir), dir, created, replaced} {
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		if st, ok := info.Sys().(*syscall.Stat_t); !ok || st.Uid != user || st.Gid != user {
			t.Errorf("%s belongs to user %d, want %d", path, st.Uid, user)
		}
	}
}
