//go:build !windows

package main

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// machine names what the numbers depend on.
func machine() string {
	kernel := ""
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		kernel = " " + unix.ByteSliceToString(u.Release[:])
	}
	return fmt.Sprintf("%d cores, %s/%s%s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, kernel)
}
