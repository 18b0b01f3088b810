//go:build windows

package install

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// lockDir keeps a second install out until the returned function is called. The
// lock is on a file of its own, since Windows locks no folders.
func lockDir(dir string) (func() error, error) {
	path := filepath.Join(dir, "install.lock")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, new(windows.Overlapped)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f.Close, nil
}
