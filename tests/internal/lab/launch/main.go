//go:build linux || darwin

// Command launch starts a program under limits of the system's:
//
//	launch [NAME=VALUE ...] -- PROGRAM [WORD ...]
//
// The names: nofile and fsize are limits, soft and hard; umask is octal; close
// is a list of descriptors; uid is the user to become, with the group of the
// same number; lost takes away the working directory; rss is the file for the
// peak memory in KiB. It becomes the program, except for rss: then it waits for
// it and ends as it does. Without it, a program would begin with the peak of the
// test that starts it.
package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// failed is the exit code of a launch that did not come to the program.
const failed = 125

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
	argv, rss := words[at+1:], ""
	for _, w := range words[:at] {
		name, value, _ := strings.Cut(w, "=")
		if name == "rss" {
			rss = value
			continue
		}
		if err := set(name, value); err != nil {
			return 0, fmt.Errorf("%s: %w", w, err)
		}
	}
	if rss != "" {
		return measured(argv, rss)
	}
	return 0, fmt.Errorf("become %s: %w", argv[0], syscall.Exec(argv[0], argv, os.Environ()))
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

func measured(argv []string, file string) (code int, err error) {
	pid, err := syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}})
	if err != nil {
		return 0, fmt.Errorf("start %s: %w", argv[0], err)
	}
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
	if err := os.WriteFile(file, []byte(strconv.FormatInt(peak, 10)), 0o600); err != nil {
		return 0, err
	}
	if status.Signaled() {
		return 0, fmt.Errorf("%s was ended by signal %d", argv[0], status.Signal())
	}
	return status.ExitStatus(), nil
}

func limit(what, n int) error {
	return syscall.Setrlimit(what, &syscall.Rlimit{Cur: uint64(n), Max: uint64(n)}) //nolint:gosec // Never negative.
}
