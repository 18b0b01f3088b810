//go:build !windows

package deliver

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// tryLockFile takes the file's lock for as long as it is open. On a file
// system without locks it does nothing: lines stay whole there too, and at
// worst an empty one comes between them.
func tryLockFile(f *os.File) (bool, error) {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	return !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR), nil
}

// syncName makes an empty file's name last before the first line is written:
// whoever finds a line there relies on that.
func syncName(f *os.File) error {
	fi, err := f.Stat()
	if err != nil || fi.Size() > 0 {
		return err
	}
	dir, err := os.OpenFile(filepath.Dir(f.Name()), os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil //nolint:nilerr // A folder of the user's that may be passed through and not read.
	}
	return errors.Join(dir.Sync(), dir.Close())
}
