//go:build !windows

package hookrun

import (
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"
)

// spawn starts a command in a new session, so that it has no terminal and its group
// can be stopped at once. A detached command outlives this process.
func (n *supervisor) spawn(cmd *exec.Cmd, mark string, detached bool) (*processTree, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	f := &processTree{supervisor: n, mark: mark}
	if err := n.begin(f, cmd, detached); err != nil {
		return nil, fmt.Errorf("start the hook: %w", err)
	}
	return f, nil
}

func (f *processTree) ended() { f.supervisor.end(f) }

// release forgets the process tree, some of which may still run.
func (f *processTree) release() {}

// stop ends the process tree: politely, then by force. It returns when no process
// is left or the time for that has passed.
func (f *processTree) stop() { f.end(f.signal) }

// end is stop for the processes that signal reaches.
func (f *processTree) end(signal func(syscall.Signal) (alive bool)) {
	if signal(syscall.SIGTERM) {
		until(grace, func() bool { return signal(0) })
	}
	until(final, func() bool { return signal(syscall.SIGKILL) })
}

// until calls alive every few milliseconds until it returns false or d has passed.
// There is no event to wait for: most of a tree are not our children.
func until(d time.Duration, alive func() bool) {
	end := time.NewTimer(d)
	defer end.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for alive() {
		select {
		case <-end.C:
			return
		case <-tick.C:
		}
	}
}

// signal signals all live processes of the tree and reports whether there are any.
// Signal 0 only asks.
func (f *processTree) signal(s syscall.Signal) bool {
	// The group goes first: one call reaches all of it, a process that is being
	// forked included.
	err := syscall.Kill(-f.pid, s)
	if alive, known := f.signalDescendants(s); known {
		return alive
	}
	return err == nil || errors.Is(err, syscall.EPERM)
}
