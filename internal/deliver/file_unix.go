//go:build !windows

package deliver

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLockFile takes the file's lock for as long as it is open. On a file
// system without locks it does nothing: lines stay whole there too, and at
// worst an empty one comes between them.
func tryLockFile(f *os.File) (bool, error) {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	return !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR), nil
}
