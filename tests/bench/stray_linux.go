package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// canEndStrays says that a delivery that a hook has started can be found.
const canEndStrays = true

// endStrays ends the deliveries that hooks have started and collects them. To
// find them, this process takes the place of init for its descendants; it must
// have no other children at that time.
func endStrays() error {
	for {
		// The one that has just come over is not a child yet on the first look
		// only if the hook has not ended, which the caller has waited for.
		pids, err := children()
		if err != nil {
			return err
		}
		if len(pids) == 0 {
			return nil
		}
		for _, pid := range pids {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("end delivery %d: %w", pid, err)
			}
			for {
				_, err := syscall.Wait4(pid, nil, 0, nil)
				if !errors.Is(err, syscall.EINTR) {
					break
				}
			}
		}
	}
}

// adopt makes orphans below this process its children.
func adopt() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// children are the processes whose parent this one is.
func children() ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	self := []byte(strconv.Itoa(os.Getpid()))
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue
		}
		// pid (name) state ppid; the name may hold blanks and brackets.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) > 1 && bytes.Equal(fields[1], self) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}
