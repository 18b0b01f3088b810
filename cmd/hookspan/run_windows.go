package main

import (
	"os"
	"syscall"
)

// passedOn are caught, so that the command's end comes before this process's.
var passedOn = []os.Signal{os.Interrupt, syscall.SIGTERM}

// fromTerminal reports that the console has sent Ctrl-C to the command as well.
func fromTerminal(os.Signal) bool { return true }

func exitCodeOf(s *os.ProcessState) int { return s.ExitCode() }
