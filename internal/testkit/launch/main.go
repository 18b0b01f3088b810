//go:build linux || darwin

// Command launch starts a program under limits of the system's:
//
//	launch [NAME=VALUE ...] -- PROGRAM [WORD ...]
//
// The names: nofile and fsize are limits, soft and hard; umask is octal; close
// is a list of descriptors; uid is the user to become, with the group of the
// same number; lost takes away the working directory. launch then becomes the
// program, unless usage names a file: then it waits for the program, writes its
// peak memory in KiB and its processor time in microseconds into the file and
// exits with its code. A program's peak memory starts at that of the process that
// starts it, which should therefore be small. With usage, most is how long
// the program may run: then it is killed and the exit code is 3. So does a signal
// to end launch.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// The exit codes of launch: it could not run the program, or stopped it.
const (
	failed  = 125
	stopped = 3
)

func main() {
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "launch: %v\n", err)
		code = failed
	}
	os.Exit(code)
}

func run(words []string) (code int, err error) {
	at := slices.Index(words, "--")
	if at < 0 || at+1 == len(words) {
		return 0, errors.New("no program: want -- PROGRAM")
	}
	argv, usage, most := words[at+1:], "", time.Duration(0)
	for _, w := range words[:at] {
		name, value, _ := strings.Cut(w, "=")
		switch name {
		case "usage":
			usage = value
		case "most":
			most, err = time.ParseDuration(value)
		default:
			err = set(name, value)
		}
		if err != nil {
			return 0, fmt.Errorf("%s: %w", w, err)
		}
	}
	if usage != "" {
		return measured(argv, usage, most)
	}
	return 0, fmt.Errorf("become %s: %w", argv[0], syscall.Exec(argv[0], argv, os.Environ())) //nolint:gosec // Starting it is what this program is for.
}

func set(name, value string) error {
	switch name {
	case "lost":
		dir, err := os.Getwd()
		if err != nil {
			return err
		}
		return os.Remove(dir)
	case "close":
		for word := range strings.SplitSeq(value, ",") {
			fd, err := strconv.Atoi(word)
			if err == nil {
				err = syscall.Close(fd)
			}
			if err != nil {
				return err
			}
		}
		return nil
	case "umask":
		mask, err := strconv.ParseUint(value, 8, 16)
		syscall.Umask(int(mask)) //nolint:gosec // 16 bits.
		return err
	}
	n, err := strconv.Atoi(value)
	if err != nil {
		return err
	}
	switch name {
	case "nofile":
		return limit(syscall.RLIMIT_NOFILE, n)
	case "fsize":
		return limit(syscall.RLIMIT_FSIZE, n)
	case "uid":
		return errors.Join(syscall.Setgroups(nil), syscall.Setgid(n), syscall.Setuid(n))
	}
	return errors.New("no such name")
}

func measured(argv []string, file string, most time.Duration) (code int, err error) {
	// While this process is its parent and has not waited for it, no other process
	// can have its number.
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM, syscall.SIGINT)
	pid, err := syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}}) //nolint:gosec // As above.
	if err != nil {
		return 0, fmt.Errorf("start %s: %w", argv[0], err)
	}
	var killed atomic.Bool
	kill := func() { killed.Store(true); _ = syscall.Kill(pid, syscall.SIGKILL) }
	if most > 0 {
		defer time.AfterFunc(most, kill).Stop()
	}
	go func() { <-end; kill() }()
	var status syscall.WaitStatus
	var used syscall.Rusage
	for {
		_, err = syscall.Wait4(pid, &status, 0, &used)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		return 0, fmt.Errorf("wait for %s: %w", argv[0], err)
	}
	peak := int64(used.Maxrss) //nolint:unconvert // 32 bits on some systems.
	if runtime.GOOS == "darwin" {
		peak >>= 10 // Bytes there, KiB elsewhere.
	}
	cpu := (int64(used.Utime.Sec)+int64(used.Stime.Sec))*1e6 + int64(used.Utime.Usec) + int64(used.Stime.Usec) //nolint:unconvert // As above.
	if err := os.WriteFile(file, fmt.Appendln(nil, peak, cpu), 0o600); err != nil {
		return 0, err
	}
	if killed.Load() {
		return stopped, nil
	}
	if status.Signaled() {
		return 0, fmt.Errorf("%s was ended by signal %d", argv[0], status.Signal())
	}
	return status.ExitStatus(), nil
}

func limit(what, n int) error {
	return syscall.Setrlimit(what, &syscall.Rlimit{Cur: uint64(n), Max: uint64(n)}) //nolint:gosec // Never negative.
}
