//go:build !windows

package filelock

import (
	"context"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// try takes the lock without waiting, and reports whether it did.
func try(f *os.File) (bool, error) {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	return !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR), nil
}

func lockFolder(ctx context.Context, dir string) (io.Closer, error) {
	f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	if err := Wait(ctx, f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
