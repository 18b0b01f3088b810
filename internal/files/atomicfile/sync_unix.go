//go:build !windows

package atomicfile

import (
	"errors"
	"os"
	"syscall"
)

// SyncFolder makes the names in a folder survive a power cut. A folder that
// cannot be read is left alone, and so is one on a file system that cannot sync
// folders.
func SyncFolder(dir string) error {
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return nil //nolint:nilerr // The user may pass through the folder without the right to read it.
	}
	if err = f.Sync(); errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.EBADF) || errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return errors.Join(err, f.Close())
}
