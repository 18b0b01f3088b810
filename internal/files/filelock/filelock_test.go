package filelock

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// holdVariable makes a copy of the test binary hold a folder's lock until its
// standard input ends.
const holdVariable = "HOOKSPAN_TEST_HOLD_LOCK"

func TestMain(m *testing.M) {
	if dir := os.Getenv(holdVariable); dir != "" {
		if _, err := Folder(context.Background(), dir); err != nil {
			os.Exit(3)
		}
		_, _ = os.Stdout.WriteString("locked\n")
		_, _ = os.Stdin.Read(make([]byte, 1))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func open(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func TestTryTakesTheLockOfOneHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	first, second := open(t, path), open(t, path)
	if ok, err := try(first); !ok || err != nil {
		t.Fatalf("first: %t, %v", ok, err)
	}
	if ok, err := try(second); ok || err != nil {
		t.Fatalf("second while the first holds it: %t, %v", ok, err)
	}
	// On Windows no other process can write the bytes that a lock covers.
	if _, err := second.WriteString("text"); err != nil {
		t.Errorf("write without the lock: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if ok, err := try(second); !ok || err != nil {
		t.Fatalf("second after the first: %t, %v", ok, err)
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	first, second := open(t, path), open(t, path)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Wait(ended, first); err != nil {
		t.Fatalf("a free lock: %v", err)
	}
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := Wait(short, second); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a held lock: error %v, want the context's", err)
	}
	time.AfterFunc(20*time.Millisecond, func() { _ = first.Close() })
	if err := Wait(t.Context(), second); err != nil {
		t.Fatalf("a lock that is released: %v", err)
	}
}

func TestFolderLockEndsWithItsProcess(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	child := exec.CommandContext(t.Context(), exe)
	child.Env = append(os.Environ(), holdVariable+"="+dir)
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close() //nolint:errcheck // The child is killed.
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := Folder(short, dir); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("while the child holds it: error %v, want the context's", err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // it was killed
	f, err := Folder(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("the lock left %v in the folder, error %v", entries, err)
	}
	if _, err := Folder(t.Context(), filepath.Join(dir, "absent")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an absent folder: error %v, want fs.ErrNotExist", err)
	}
}
