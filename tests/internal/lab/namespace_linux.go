package lab

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"testing"
)

// Namespace gives the goroutine, and the programs that it starts from here on, a
// view of the file systems of its own, which ends with the goroutine. Only root
// may; the error says so.
func Namespace() error {
	if os.Geteuid() != 0 {
		return errors.New("mounting takes root")
	}
	// The thread ends with the goroutine: it is never given back.
	runtime.LockOSThread()
	if err := syscall.Unshare(syscall.CLONE_NEWNS); err != nil {
		return fmt.Errorf("unshare the mounts: %w", err)
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make the mounts private: %w", err)
	}
	return nil
}

// Mount mounts a file system in memory on a folder, until the test's end. The
// goroutine has a Namespace.
func Mount(t testing.TB, dir, options string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "mode=0700,"+options); err != nil {
		t.Fatalf("mount %s: %v", dir, err)
	}
	t.Cleanup(func() {
		// The test may have done so itself.
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil && !errors.Is(err, syscall.EINVAL) {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
}

// ReadOnly switches writing to a mounted folder off and on.
func ReadOnly(dir string, on bool) error {
	flags := uintptr(syscall.MS_REMOUNT)
	if on {
		flags |= syscall.MS_RDONLY
	}
	return syscall.Mount("tmpfs", dir, "tmpfs", flags, "")
}
