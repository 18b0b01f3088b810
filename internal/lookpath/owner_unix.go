//go:build !windows

package lookpath

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// owner is the user id of a folder's owner, or -1.
func owner(info fs.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}

// others says that other users than this one and root can fill a folder.
func others(info fs.FileInfo) string {
	switch uid := owner(info); {
	case info.Mode().Perm()&0o002 != 0:
		return "every user can write to its folder"
	case uid != 0 && uid != os.Geteuid():
		return fmt.Sprintf("its folder belongs to user %d", uid)
	}
	return ""
}
