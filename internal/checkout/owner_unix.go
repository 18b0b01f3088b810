//go:build !windows

package checkout

import (
	"os"
	"syscall"
)

// ours reports a folder of this user or of root: git does not trust others either.
func ours(dir string) bool {
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return !ok || st.Uid == 0 || int64(st.Uid) == int64(os.Geteuid())
}
