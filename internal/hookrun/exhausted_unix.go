//go:build !windows

package hookrun

import (
	"errors"
	"math"
	"syscall"
)

// Exhausted reports that an error says that the system had no descriptors, processes or memory left.
func Exhausted(err error) bool {
	for _, errno := range [...]syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN, syscall.ENOMEM} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

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
