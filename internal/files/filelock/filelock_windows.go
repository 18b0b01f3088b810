package filelock

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/windows"
)

// try takes the lock without waiting, and reports whether it did.
func try(f *os.File) (bool, error) {
	err := windows.LockFileEx(windows.Handle(f.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0,
		&windows.Overlapped{OffsetHigh: 0x7fffffff})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return false, nil
	}
	return err == nil, err
}

// lockFolder locks a folder, which Windows has no lock for, by a named event of
// the user's logon session: it exists while a process has it open.
func lockFolder(ctx context.Context, dir string) (io.Closer, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(dir); err != nil {
		return nil, err
	}
	name, err := windows.UTF16PtrFromString(fmt.Sprintf(`Local\hookspan-%x`, sha256.Sum256([]byte(strings.ToLower(dir)))))
	if err != nil {
		return nil, err
	}
	var held event
	err = wait(ctx, func() (bool, error) {
		h, err := windows.CreateEvent(nil, 1, 0, name)
		if errors.Is(err, windows.ERROR_ALREADY_EXISTS) {
			return false, windows.CloseHandle(h)
		}
		held = event(h)
		return err == nil, err
	})
	if err != nil {
		return nil, err
	}
	return held, nil
}

type event windows.Handle

func (e event) Close() error { return windows.CloseHandle(windows.Handle(e)) }
