//go:build !windows

// Command launch runs a program and prints on standard error, as the last line,
// its peak memory in KiB and the processor time it took in microseconds, of the
// system's own accounting. It stands between a measuring program and the measured
// one, because a process starts out with the peak of the one it was started from.
package main

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "launch: %v\n", err)
		os.Exit(1)
	}
}

func run(argv []string) error {
	if len(argv) == 0 {
		return fmt.Errorf("no program named: want launch PROGRAM and its words")
	}
	pid, err := syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}})
	if err != nil {
		return fmt.Errorf("start %s: %w", argv[0], err)
	}
	var status syscall.WaitStatus
	var used syscall.Rusage
	for {
		_, err = syscall.Wait4(pid, &status, 0, &used)
		if err != syscall.EINTR { //nolint:errorlint // A system call's own number.
			break
		}
	}
	if err != nil {
		return fmt.Errorf("wait for %s: %w", argv[0], err)
	}
	if status.ExitStatus() != 0 {
		return fmt.Errorf("%s ended with code %d, signal %d", argv[0], status.ExitStatus(), status.Signal())
	}
	peak := used.Maxrss
	if runtime.GOOS == "darwin" {
		peak >>= 10 // Bytes there, KiB elsewhere.
	}
	cpu := (int64(used.Utime.Sec)+int64(used.Stime.Sec))*1e6 + int64(used.Utime.Usec) + int64(used.Stime.Usec)
	fmt.Fprintln(os.Stderr, peak, cpu)
	return nil
}
