//go:build !windows

package crowd

import (
	"os"
	"runtime"
	"syscall"
)

// peak is the process's peak memory in KiB. A process starts out with the peak of
// the one that started it, so that the figure is never below that.
func peak(s *os.ProcessState) int64 {
	used, ok := s.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int64(used.Maxrss) >> 10 // Bytes there, KiB elsewhere.
	}
	return int64(used.Maxrss) //nolint:unconvert // 32 bits on some systems.
}
