package main

import (
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// apartReason says why the two sides cannot have a core each; empty if they can.
func apartReason() string {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return err.Error()
	}
	if set.Count() < 2 {
		return "there is one core only"
	}
	return ""
}

// pinned runs start on the side's core: -1 for any, 0 and 1 for the first two
// that this program may use. What is started there stays there.
func pinned(side int, start func() error) (err error) {
	if side < 0 {
		return start()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return fmt.Errorf("read the cores of this program: %w", err)
	}
	for cpu, nth := 0, 0; nth <= side; cpu++ {
		if cpu >= len(before)*64 {
			return fmt.Errorf("core %d: this program may use %d", side, before.Count())
		}
		if before.IsSet(cpu) {
			one.Zero()
			one.Set(cpu)
			nth++
		}
	}
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		return fmt.Errorf("take a core: %w", err)
	}
	defer func() { err = errors.Join(err, unix.SchedSetaffinity(0, &before)) }()
	return start()
}
