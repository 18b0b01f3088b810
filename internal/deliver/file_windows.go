package deliver

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// tryLockFile takes the file's lock for as long as it is open. Locks keep
// others from the bytes they cover, so the one byte lies far behind any line.
func tryLockFile(f *os.File) (bool, error) {
	err := windows.LockFileEx(windows.Handle(f.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0,
		&windows.Overlapped{OffsetHigh: 0x7fffffff})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}

// syncName has nothing to do: NTFS journals its folders.
func syncName(*os.File) error { return nil }
