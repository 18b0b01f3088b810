//go:build !windows

package hookrun

import (
	"math"
	"syscall"
)

// shortages are the errors of a system that has no descriptors, processes or
// memory left.
var shortages = [...]error{syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN, syscall.ENOMEM, syscall.ENOBUFS}

// descriptors is for how many handlers at a time there are descriptors. A hook
// takes six while it starts; the rest is for the log, the spool and reading /proc.
func descriptors() int {
	const each, rest = 6, 48
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil || uint64(limit.Cur) > math.MaxInt32 { //nolint:unconvert // Signed on some systems.
		return math.MaxInt
	}
	return max(1, (int(limit.Cur)-rest)/each) //nolint:gosec // Checked above.
}
