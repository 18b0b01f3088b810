package spool

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

const (
	// appendMode opens a log for appending; LockFileEx wants read access.
	appendMode = os.O_RDWR | os.O_APPEND
	// syncMode opens a log so that it can be synced: FlushFileBuffers wants
	// write access.
	syncMode = os.O_RDWR
	noBlock  = 0
	// folderOnly is empty: on Windows opening never waits.
	folderOnly = ""
	// lockPause is the longest wait between two tries to take a lock. Appends wait
	// for each other.
	lockPause = time.Millisecond
	// appendAlone makes appends exclude each other: not every file system of
	// Windows positions and writes in one step.
	appendAlone = true
)

// lockAt is the high half of the offset of the one byte that is locked.
// Windows locks are mandatory for the bytes they cover, so the byte is far
// behind any log.
const lockAt = 0x7fffffff

// checkOwner allows every file: the access list comes from the user's profile
// folder.
func checkOwner(fs.FileInfo) error { return nil }

func links(fs.FileInfo) uint64 { return 1 }

func wrongMode(fs.FileInfo, fs.FileMode) bool { return false }

// tryLock takes a lock on the open file without waiting. Any error but that of a held
// lock wraps errNoLocks.
func tryLock(f *os.File, exclusive bool) (bool, error) {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if exclusive {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := control(f, func(h uintptr) error {
		return windows.LockFileEx(windows.Handle(h), flags, 0, 1, 0, &windows.Overlapped{OffsetHigh: lockAt})
	})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return false, nil
	}
	return err == nil, noLocks(err)
}

func unlock(f *os.File) error {
	return control(f, func(h uintptr) error {
		return windows.UnlockFileEx(windows.Handle(h), 0, 1, 0, &windows.Overlapped{OffsetHigh: lockAt})
	})
}

func write(f *os.File, b []byte) (int, error) {
	var n uint32
	err := control(f, func(h uintptr) error {
		return windows.WriteFile(windows.Handle(h), b, &n, nil)
	})
	return int(n), err
}

// syncDir does nothing: NTFS journals its folders.
func syncDir(*os.Root) error { return nil }

// SyncAbove does nothing: NTFS journals its folders.
func SyncAbove(string) error { return nil }

// notEmpty reports whether a folder could not be removed because it is not empty.
func notEmpty(err error) bool { return errors.Is(err, windows.ERROR_DIR_NOT_EMPTY) }
