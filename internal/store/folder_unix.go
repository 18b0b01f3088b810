//go:build !windows

package store

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// syncFolders makes the file's name last, and those of the folders above it, up
// to the first that is another user's: makeFile may have made them.
func syncFolders(path string) error {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		f, err := os.Open(dir) //nolint:gosec // Nothing is read from it.
		if err != nil {
			return nil //nolint:nilerr // A folder that may be passed through and not read is not one of ours.
		}
		fi, err := f.Stat()
		if err != nil {
			return errors.Join(err, f.Close())
		}
		err = errors.Join(f.Sync(), f.Close())
		if st, ok := fi.Sys().(*syscall.Stat_t); ok && int64(st.Uid) != int64(os.Geteuid()) {
			return nil // It may be no folder that can be synced, such as an automounter's.
		}
		if err != nil || dir == filepath.Dir(dir) {
			return err
		}
	}
}
