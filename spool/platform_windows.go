package spool

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

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
)

// lockAt is the high half of the offset of the one byte that is locked.
// Windows locks are mandatory for the bytes they cover, so the byte lies far
// behind any log.
const lockAt = 0x7fffffff

// checkOwner allows every file: the access list comes from the user's profile
// folder.
func checkOwner(fs.FileInfo) error { return nil }

func links(fs.FileInfo) uint64 { return 1 }

func wrongMode(fs.FileInfo, fs.FileMode) bool { return false }

// tryLock takes a lock on the open file without waiting.
func tryLock(f *os.File, exclusive bool) (bool, error) {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if exclusive {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := control(f, func(h windows.Handle) error {
		return windows.LockFileEx(h, flags, 0, 1, 0, &windows.Overlapped{OffsetHigh: lockAt})
	})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return false, nil
	}
	return err == nil, err
}

func unlock(f *os.File) error {
	return control(f, func(h windows.Handle) error {
		return windows.UnlockFileEx(h, 0, 1, 0, &windows.Overlapped{OffsetHigh: lockAt})
	})
}

// writeOnce makes one write call.
func writeOnce(f *os.File, b []byte) error {
	var n uint32
	err := control(f, func(h windows.Handle) error {
		return windows.WriteFile(h, b, &n, nil)
	})
	if err != nil {
		return fmt.Errorf("write %d bytes: %w", len(b), err)
	}
	if int(n) < len(b) {
		return fmt.Errorf("wrote %d of %d bytes: %w", n, len(b), io.ErrShortWrite)
	}
	return nil
}

// syncDir does nothing: NTFS journals its folders.
func syncDir(*os.Root) error { return nil }

// SyncAbove does nothing: NTFS journals its folders.
func SyncAbove(string) error { return nil }

func control(f *os.File, call func(windows.Handle) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var callErr error
	err = conn.Control(func(fd uintptr) { callErr = call(windows.Handle(fd)) })
	return errors.Join(err, callErr)
}

// notEmpty reports whether a folder could not be removed because it is not empty.
func notEmpty(err error) bool { return errors.Is(err, windows.ERROR_DIR_NOT_EMPTY) }
