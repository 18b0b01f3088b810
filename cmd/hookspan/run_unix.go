//go:build !windows

package main

import (
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// passedOn are the signals that a command gets from who ends or asks the process that runs it.
var passedOn = []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2}

// fromTerminal reports whether the terminal has sent a signal, which the command has then got as well.
func fromTerminal(s os.Signal) bool {
	if !slices.Contains([]os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT}, s) {
		return false
	}
	tty, err := unix.Open("/dev/tty", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(tty) }()
	foreground, err := unix.IoctlGetInt(tty, unix.TIOCGPGRP)
	return err == nil && foreground == unix.Getpgrp()
}

func exitCodeOf(s *os.ProcessState) int {
	if status, ok := s.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return s.ExitCode()
}
