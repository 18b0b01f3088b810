//go:build !windows

// Package cputime measures work by the processor time that it takes, which a busy machine
// does not change as much as it does the time of the day.
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
