//go:build !windows

package install

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// lockWait and lockPause bound the wait for another install.
const (
	lockWait  = 10 * time.Second
	lockPause = 20 * time.Millisecond
)

// lockDir keeps a second install out until the returned function is called. The
// lock is on the folder itself and leaves no file behind. On a file system
// without locks it does nothing: each step is safe alone.
func lockDir(dir string) (func() error, error) {
	f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	for waited := time.Duration(0); ; waited += lockPause {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil || !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR):
			return f.Close, nil
		case waited >= lockWait:
			return nil, errors.Join(errors.New("another hookspan install is under way: wait for it or end it"), f.Close())
		}
		time.Sleep(lockPause)
	}
}
