//go:build !windows

package proof

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// Machine names what the numbers depend on.
func Machine() string {
	kernel := ""
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		kernel = " " + unix.ByteSliceToString(u.Release[:])
	}
	return fmt.Sprintf("%d cores, %s/%s%s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, kernel)
}
