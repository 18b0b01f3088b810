//go:build !windows

package bridge

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// lockPause is the wait between two tries for a lock.
const lockPause = 5 * time.Millisecond

// lockFolder keeps other writers out until the returned function is called. The
// lock is on the folder itself and leaves no file behind. On a file system
// without locks it does nothing.
func lockFolder(ctx context.Context, dir string) (unlock func(), err error) {
	f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil || !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return func() { _ = f.Close() }, nil
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), f.Close())
		case <-time.After(lockPause):
		}
	}
}

// refused tells that nobody listens.
func refused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
