//go:build !windows

// Command launch runs a program and prints on standard error, as the last line,
// its peak memory in KiB and the processor time it took in microseconds, of the
// system's own accounting. It stands between a measuring program and the measured
// one, because a process starts out with the peak of the one it was started from.
//
//	launch [-most DURATION] PROGRAM WORDS...
//
// A program that runs for longer than that is killed, and the exit code is 3. A
// signal to end kills it, too.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

// tooLong is the exit code of a program that was stopped.
const tooLong = 3

func main() {
	stopped, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "launch: %v\n", err)
		os.Exit(1)
	}
	if stopped {
		os.Exit(tooLong)
	}
}

func run(argv []string) (stopped bool, err error) {
	var most time.Duration
	if len(argv) > 1 && argv[0] == "-most" {
		if most, err = time.ParseDuration(argv[1]); err != nil {
			return false, err
		}
		argv = argv[2:]
	}
	if len(argv) == 0 {
		return false, fmt.Errorf("no program named: want launch PROGRAM and its words")
	}
	pid, err := syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}})
	if err != nil {
		return false, fmt.Errorf("start %s: %w", argv[0], err)
	}
	if most > 0 {
		// Until it is waited for below, no other process can have its number.
		timer := time.AfterFunc(most, func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
		defer timer.Stop()
	}
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		<-end
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}()
	var status syscall.WaitStatus
	var used syscall.Rusage
	begin := time.Now()
	for {
		_, err = syscall.Wait4(pid, &status, 0, &used)
		if err != syscall.EINTR { //nolint:errorlint // A system call's own number.
			break
		}
	}
	if err != nil {
		return false, fmt.Errorf("wait for %s: %w", argv[0], err)
	}
	stopped = status.Signaled() && most > 0 && time.Since(begin) >= most
	if status.ExitStatus() != 0 && !stopped {
		return false, fmt.Errorf("%s ended with code %d, signal %d", argv[0], status.ExitStatus(), status.Signal())
	}
	peak := used.Maxrss
	if runtime.GOOS == "darwin" {
		peak >>= 10 // Bytes there, KiB elsewhere.
	}
	cpu := (int64(used.Utime.Sec)+int64(used.Stime.Sec))*1e6 + int64(used.Utime.Usec) + int64(used.Stime.Usec)
	fmt.Fprintln(os.Stderr, peak, cpu)
	return stopped, nil
}
