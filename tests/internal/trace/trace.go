// Package trace runs a program and does something to it at one of its system
// calls: kills it before the call, or has the call fail without being made.
//
// A call is named by its place among the calls of the same name that the whole
// process makes, in whichever thread. What strace counts is each thread's own
// calls, and a Go program moves between threads as it likes: the third write of
// the process would be the first or the second of a thread, another one at each
// run.
//
// Between two system calls a process changes nothing but its own memory, so that
// killing it before each of them reaches every state it can leave behind, but
// for those in the middle of a call.
//
// It promises to leave no process behind. Programs that the program starts are
// not followed, and not ended. It knows Linux on amd64; Available says so
// elsewhere.
package trace

import (
	"errors"
	"fmt"
	"syscall"
	"time"
)

// Call is the Nth use of a system call in a process, counted from 1. A read or a
// write of an eventfd has a separate name, "write eventfd".
type Call struct {
	Name string
	N    int
}

func (c Call) String() string { return fmt.Sprintf("%s %d", c.Name, c.N) }

// Fault is what is done at a call.
type Fault struct {
	At Call
	// Errno is what the call returns without having been made; a close is made
	// all the same. If zero, the process is killed.
	Errno syscall.Errno
	// Lasts reports of every later call by its name whether it fails, too. If
	// nil, none does.
	Lasts func(name string) bool
	// Rule, if not nil, decides instead of each flock, fsync and fdatasync: it returns
	// what the call fails with, or 0.
	Rule func(u Use) syscall.Errno
}

// Use is a call with an open file.
type Use struct {
	// Name is the call's, Arg its second argument.
	Name string
	Arg  uint64
	// Path is the file's, Flags are those that it was opened with.
	Path  string
	Flags int
}

// Program is what is run.
type Program struct {
	// Path is the program's file, Args what follows its name.
	Path string
	Args []string
	Env  []string
	Dir  string
	// Stdin is at most 32 KiB.
	Stdin []byte
}

// Ending is what became of the process.
type Ending struct {
	// Hit reports that the process came to the fault's call.
	Hit bool
	// Code is the exit code, -1 of a process that a signal ended, which Signal
	// names then.
	Code   int
	Signal string
	// Stdout and Stderr are what it printed.
	Stdout, Stderr []byte
	// Calls counts the calls by their names. After a fault with a nil Lasts none is
	// counted.
	Calls map[string]int
	// Hung reports that the process was killed because it did not end.
	Hung bool
}

// patience is how long a process may take that is not known to hang: much
// longer than anything under test, also on a machine with other work.
const patience = 60 * time.Second //nolint:unused // The tracer runs on Linux alone.

const maxStdin = 32 << 10 //nolint:unused // The tracer runs on Linux alone.

// ErrUnavailable is wrapped by the error of a machine that allows no tracing.
var ErrUnavailable = errors.New("processes cannot be traced here")
