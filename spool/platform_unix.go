//go:build unix

package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const (
	// appendMode opens a log for appending. NFS takes a shared lock only of a file that
	// is open for reading, too.
	appendMode = os.O_RDWR | os.O_APPEND
	// syncMode opens a log so that it can be synced.
	syncMode = os.O_RDONLY
	// noBlock keeps the opening of a fifo from waiting for its other end.
	noBlock = syscall.O_NONBLOCK
	// folderOnly ends a path, so that nothing but a folder is opened.
	folderOnly = "/"
	// lockPause is the longest wait between two tries to take a lock.
	lockPause = 20 * time.Millisecond
	// appendAlone lets appends run at once: a write to a file opened for appending
	// is atomic.
	appendAlone = false
)

// checkOwner refuses a file or folder that another user owns or can change.
func checkOwner(fi fs.FileInfo) error {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok && int64(st.Uid) != int64(os.Geteuid()) {
		return fmt.Errorf("%w: owned by user %d, want user %d: run as its owner, or move it away",
			ErrUnsafe, st.Uid, os.Geteuid())
	}
	if perm := fi.Mode().Perm(); perm&0o022 != 0 {
		return fmt.Errorf("%w: mode %04o lets others write: chmod go-w, or move it away", ErrUnsafe, perm)
	}
	return nil
}

// links is the number of names the file has.
func links(fi fs.FileInfo) uint64 {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}

// wrongMode reports whether the mode is not the one that this package sets.
func wrongMode(fi fs.FileInfo, want fs.FileMode) bool { return fi.Mode().Perm() != want }

// tryLock takes an advisory lock on the open file without waiting. Any error but that
// of a held lock wraps errNoLocks.
func tryLock(f *os.File, exclusive bool) (bool, error) {
	how := syscall.LOCK_SH | syscall.LOCK_NB
	if exclusive {
		how = syscall.LOCK_EX | syscall.LOCK_NB
	}
	err := control(f, func(fd uintptr) error { return syscall.Flock(int(fd), how) })
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, noLocks(err)
}

func unlock(f *os.File) error {
	return control(f, func(fd uintptr) error { return syscall.Flock(int(fd), syscall.LOCK_UN) })
}

func write(f *os.File, b []byte) (n int, err error) {
	err = control(f, func(fd uintptr) (err error) {
		n, err = syscall.Write(int(fd), b)
		return err
	})
	return n, err
}

func syncDir(d *os.Root) error {
	f, err := d.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(syncable(f.Sync()), f.Close())
}

// SyncAbove makes the name of a file or folder survive a power cut, and the names of
// the folders above it that may be new, up to the first of another user.
func SyncAbove(path string) error {
	for parent := filepath.Dir(path); parent != path; path, parent = parent, filepath.Dir(parent) {
		f, err := os.OpenFile(parent, os.O_RDONLY|syscall.O_DIRECTORY, 0) //nolint:gosec // Nothing is read from it.
		if err != nil {
			return nil //nolint:nilerr // Without the right to read the folder this user created no name in it.
		}
		fi, err := f.Stat()
		if err != nil {
			return errors.Join(err, f.Close())
		}
		err = errors.Join(syncable(f.Sync()), f.Close())
		if st, ok := fi.Sys().(*syscall.Stat_t); ok && int64(st.Uid) != int64(os.Geteuid()) {
			return nil // Whatever the error: this user created no name in it.
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// notEmpty reports whether a folder could not be removed because it is not empty.
func notEmpty(err error) bool {
	return errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EEXIST)
}
