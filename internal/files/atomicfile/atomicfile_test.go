package atomicfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/skip"
)

// content reads a file and fails if its folder contains other names than those given.
func content(t *testing.T, path string, names ...string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, e := range entries {
		found = append(found, e.Name())
	}
	if want := append([]string{filepath.Base(path)}, names...); fmt.Sprint(found) != fmt.Sprint(want) {
		t.Errorf("the folder contains %q, want %q", found, want)
	}
	return string(data)
}

func TestWriteReplacesContentAndMode(t *testing.T) {
	for _, tt := range []struct {
		o    Options
		mode fs.FileMode
	}{
		{Options{}, 0o600},
		{Options{Sync: SyncNone}, 0o600},
		{Options{Mode: 0o755}, 0o755},
		{Options{Mode: 0o666, Sync: SyncName}, 0o666},
	} {
		path := filepath.Join(t.TempDir(), "file")
		for _, text := range []string{"first, which is longer", "second"} {
			if err := Write(path, []byte(text), tt.o); err != nil {
				t.Fatal(err)
			}
			if got := content(t, path); got != text {
				t.Errorf("%+v: the file contains %q, want %q", tt.o, got, text)
			}
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != tt.mode && runtime.GOOS != "windows" {
			t.Errorf("%+v: mode %04o, want %04o", tt.o, got, tt.mode)
		}
	}
}

func TestWriteReplacesLinkAndLeavesTarget(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	if err := os.WriteFile(target, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		skip.Missing(t, "no symbolic links here: %v", err)
	}
	if err := Write(link, []byte("new"), Options{}); err != nil {
		t.Fatal(err)
	}
	if got := content(t, link, "target"); got != "new" {
		t.Errorf("the link's name has %q, want %q", got, "new")
	}
	if got, err := os.ReadFile(target); err != nil || string(got) != "old" {
		t.Errorf("the target contains %q (%v), want it untouched", got, err)
	}
}

func TestWriteLeavesNothingBehindAfterError(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "folder")
	if err := os.MkdirAll(filepath.Join(path, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, []byte("x"), Options{}); err == nil {
		t.Error("a folder was replaced by a file")
	}
	if err := Create(path, []byte("x"), Options{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Create over a folder: error %v, want fs.ErrExist", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("the folder contains %v (%v), want one entry", entries, err)
	}
	if err := Write(filepath.Join(dir, "absent", "file"), nil, Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Write into an absent folder: error %v, want fs.ErrNotExist", err)
	}
}

func TestCreateLeavesExistingFileAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := Create(path, []byte("first"), Options{Mode: 0o700, Sync: SyncName}); err != nil {
		t.Fatal(err)
	}
	if err := Create(path, []byte("second"), Options{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("error %v, want fs.ErrExist", err)
	}
	if got := content(t, path); got != "first" {
		t.Errorf("the file contains %q, want %q", got, "first")
	}
}

func TestReadersSeeOldOrNewContent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	text := func(i int) []byte { return bytes.Repeat([]byte{byte('a' + i%26)}, 10_000+i) }
	if err := Write(path, text(0), Options{Sync: SyncNone}); err != nil {
		t.Fatal(err)
	}
	var writers sync.WaitGroup
	for w := range 2 {
		writers.Go(func() {
			for i := range 100 {
				if err := Write(path, text(2*i+w), Options{Sync: SyncNone}); err != nil && runtime.GOOS != "windows" {
					t.Error(err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { writers.Wait(); close(done) }()
	for {
		data, err := os.ReadFile(path)
		if err == nil && (len(data) < 10_000 || strings.Trim(string(data), string(data[:1])) != "") {
			t.Fatalf("%d bytes of more than one content", len(data))
		}
		select {
		case <-done:
			content(t, path)
			return
		default:
		}
	}
}

func TestRemoveTempsRemovesThoseOfOneFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "b")
	temp, err := writeTemp(path, Options{}, all(nil))
	if err != nil {
		t.Fatal(err)
	}
	other, err := writeTemp(filepath.Join(dir, "b-c"), Options{}, all(nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := Write(path, []byte("kept"), Options{}); err != nil {
		t.Fatal(err)
	}
	RemoveTemps(path)
	if _, err := os.Stat(temp); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is still there (%v)", temp, err)
	}
	if err := errors.Join(os.Remove(other)); err != nil {
		t.Errorf("the temporary file of another file: %v", err)
	}
	if got := content(t, path); got != "kept" {
		t.Errorf("the file contains %q", got)
	}
}
