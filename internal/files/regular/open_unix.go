//go:build !windows

package regular

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

const (
	// noWait keeps opening from waiting for a pipe's other end, and a terminal
	// from becoming the process's controlling terminal.
	noWait   = syscall.O_NONBLOCK | syscall.O_NOCTTY
	noFollow = syscall.O_NOFOLLOW
)

// othersWrite are the mode bits that let the group or everybody write.
const othersWrite = 0o022

// private refuses an open file that others can change.
func private(path string, info fs.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	if !trusted(st.Uid) {
		return &Error{Path: path, Found: fmt.Sprintf("a file of user %d", st.Uid), Want: fmt.Sprintf("one of user %d: name another file", os.Geteuid())}
	}
	folder, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return err
	}
	if dir, ok := folder.Sys().(*syscall.Stat_t); !ok || trusted(dir.Uid) && folder.Mode().Perm()&othersWrite == 0 {
		return nil
	}
	const want = " in a folder that only you can write to: move it there"
	switch perm := info.Mode().Perm(); {
	case perm&othersWrite != 0:
		return &Error{Path: path, Found: fmt.Sprintf("mode %04o, in a folder that others can write to", perm), Want: "a file that only you can write (chmod go-w), or one" + want}
	case st.Nlink > 1:
		return &Error{Path: path, Found: fmt.Sprintf("%d names of it, and a folder that others can write to", st.Nlink), Want: "a file with one name, or one" + want}
	}
	return nil
}

// trusted reports this user, and root, who can do anything anyway.
func trusted(uid uint32) bool { return uid == 0 || int64(uid) == int64(os.Geteuid()) }

// outside is the owner that a user namespace shows for those that it does not have, such
// as root of the machine.
const outside = 65534

// rooted refuses an open file that others than root can change or replace.
func rooted(path string, f *os.File) error {
	info, err := f.Stat()
	for at := path; err == nil; info, err = os.Stat(at) {
		above := at != path && at != filepath.Dir(path)
		others := info.Mode().Perm()&othersWrite != 0 && !(above && info.Mode()&fs.ModeSticky != 0) // They cannot move root's in it.
		if st, ok := info.Sys().(*syscall.Stat_t); !ok || st.Uid != 0 && !(above && st.Uid == outside) || others {
			return &Error{Path: path, Found: fmt.Sprintf("%s with mode %04o", at, info.Mode().Perm()), Want: "file and folders that belong to root and that others cannot write to", open: true}
		}
		if at == filepath.Dir(at) {
			return nil
		}
		at = filepath.Dir(at)
	}
	return err
}
