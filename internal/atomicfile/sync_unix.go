//go:build !windows

package atomicfile

import (
	"errors"
	"os"
	"syscall"
)

// SyncFolder makes the names in a folder survive a power cut. A folder that
// cannot be read is left alone.
func SyncFolder(dir string) error {
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return nil //nolint:nilerr // The user may pass through the folder without the right to read it.
	}
	return errors.Join(f.Sync(), f.Close())
}
