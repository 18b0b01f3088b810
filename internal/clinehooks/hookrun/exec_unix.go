//go:build !windows

package hookrun

import (
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"
)

// spawn starts a command in a session of its own, so that it has no terminal and
// its group can be stopped as one. One that is detached outlives this process.
func (n *supervisor) spawn(cmd *exec.Cmd, mark string, detached bool) (*processTree, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	f := &processTree{supervisor: n, mark: mark}
	if err := n.begin(f, cmd, detached); err != nil {
		return nil, fmt.Errorf("start the hook: %w", err)
	}
	return f, nil
}

func (f *processTree) ended() { f.supervisor.end(f) }

// release lets go of the process tree, of which some may still run.
func (f *processTree) release() {}

// stop ends the process tree: politely, then by force. It returns when nobody is left
// or the time for that is over.
func (f *processTree) stop() { f.end(f.signal) }

// end is stop for those that signal sends to.
func (f *processTree) end(signal func(syscall.Signal) (alive bool)) {
	if signal(syscall.SIGTERM) {
		until(grace, func() bool { return signal(0) })
	}
	until(final, func() bool { return signal(syscall.SIGKILL) })
}

// until calls alive every few milliseconds until it reports that nobody is, or d
// has passed. There is nothing to wait on: most of a tree are not our children.
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

// signal sends to all members that are alive, and reports whether any is. Signal
// 0 only asks.
func (f *processTree) signal(s syscall.Signal) bool {
	// The group goes first: that is one call for all of it, and a member that is
	// just being born is in it.
	err := syscall.Kill(-f.pid, s)
	if alive, known := f.signalDescendants(s); known {
		return alive
	}
	return err == nil || errors.Is(err, syscall.EPERM)
}
