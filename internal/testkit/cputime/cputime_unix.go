//go:build !windows

package cputime

import (
	"syscall"
	"time"
)

// Used is the processor time that this process has taken.
func Used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
