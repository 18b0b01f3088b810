//go:build !windows

package atomicfile

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// owner is whose file root writes at path: the owner of the file that it replaces, else
// of the nearest folder that exists. So sudo with a user's HOME leaves that user no file
// of root's. ok is false for other users, whose files are theirs, and for root's own.
func owner(path string) (uid, gid int, ok bool) {
	if os.Geteuid() != 0 {
		return 0, 0, false
	}
	for {
		if info, err := os.Lstat(path); err == nil {
			st, ok := info.Sys().(*syscall.Stat_t)
			return int(st.Uid), int(st.Gid), ok && st.Uid != 0
		}
		if filepath.Dir(path) == path {
			return 0, 0, false
		}
		path = filepath.Dir(path)
	}
}

// keepOwner gives a file that is being written the owner that it should have. A file
// system without owners is no reason to fail.
func keepOwner(f *os.File, path string) {
	if uid, gid, ok := owner(path); ok {
		_ = f.Chown(uid, gid)
	}
}

// names refuses to replace a file that has other names: they would keep the old text.
func names(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return nil //nolint:nilerr // There is none, or writing reports it.
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && info.Mode().IsRegular() && st.Nlink > 1 {
		return &fs.PathError{Op: "replace", Path: path, Err: fmt.Errorf("it has %d names (hard links), and the others would keep the old text: leave one name, or make the others symbolic links", st.Nlink)}
	}
	return nil
}

// MakeFolders is os.MkdirAll with the owner of the nearest folder that exists.
func MakeFolders(dir string, mode fs.FileMode) error {
	uid, gid, given := owner(dir)
	var made []string
	for at := dir; given; at = filepath.Dir(at) {
		if _, err := os.Lstat(at); err == nil {
			break
		}
		made = append(made, at)
	}
	if err := os.MkdirAll(dir, mode); err != nil {
		return err
	}
	for _, at := range made {
		_ = os.Lchown(at, uid, gid)
	}
	return nil
}
