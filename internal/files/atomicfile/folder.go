package atomicfile

import (
	"errors"
	"io/fs"
	"os"
)

// RemoveFolder removes a folder unless something is in it. A link to a folder is the
// user's, and stays.
func RemoveFolder(dir string) error {
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return nil
	}
	if list, err := os.ReadDir(dir); err == nil && len(list) > 0 {
		return nil
	}
	err = os.Remove(dir)
	if _, gone := os.Lstat(dir); errors.Is(gone, fs.ErrNotExist) {
		return nil
	}
	// Something may have come in between the two calls.
	if list, again := os.ReadDir(dir); again == nil && len(list) > 0 {
		return nil
	}
	return err
}
