//go:build !windows

package hookrun

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// shell is the program and the arguments for a shell line.
func (r *Runner) shell(kind, line string, _ []string) (name string, args []string, err error) {
	switch kind {
	case "":
		return "/bin/sh", []string{"-c", line}, nil
	case "bash":
		return "bash", []string{"-c", line}, nil
	case "powershell":
		return "pwsh", []string{"-NoProfile", "-NonInteractive", "-Command", line}, nil
	}
	return "", nil, fmt.Errorf("shell %q is not known; use bash or powershell", kind)
}

// executable checks that a file can be started.
func executable(name string) (string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return "", fmt.Errorf("start %q: %w", name, err)
	}
	if info.IsDir() || info.Mode()&0o111 == 0 {
		return "", fmt.Errorf("start %q: it is not executable; try chmod +x", name)
	}
	return name, nil
}

// shortages are the errors of a system that has no descriptors, processes or
// memory left.
var shortages = [...]error{syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN, syscall.ENOMEM, syscall.ENOBUFS}

// descriptors is how many handlers can run at a time by the limit of descriptors. A
// hook needs six while it starts; the rest is for the log, the spool and /proc.
func descriptors() int {
	const each, rest = 6, 48
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil || uint64(limit.Cur) > math.MaxInt32 { //nolint:unconvert // Signed on some systems.
		return math.MaxInt
	}
	return max(1, (int(limit.Cur)-rest)/each) //nolint:gosec // Checked above.
}

// spawn starts a command in a new session, so that it has no terminal and its group
// can be stopped at once. A detached command outlives this process.
func (s *supervisor) spawn(cmd *exec.Cmd, mark string, detached bool) (*processTree, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	t := &processTree{supervisor: s, mark: mark}
	if err := s.begin(t, cmd, detached); err != nil {
		return nil, fmt.Errorf("start the hook: %w", err)
	}
	return t, nil
}

// release has an effect on Windows only.
func (t *processTree) release() {}

// stop ends the process tree: by SIGTERM, then by SIGKILL. It returns when no process
// is left or the time for that has passed.
func (t *processTree) stop() { end(t.signal) }

// end is stop for the processes that signal reaches.
func end(signal func(syscall.Signal) (alive bool)) {
	if signal(syscall.SIGTERM) {
		until(grace, func() bool { return signal(0) })
	}
	until(final, func() bool { return signal(syscall.SIGKILL) })
}

// until calls alive every few milliseconds until it returns false or d has passed.
// There is no event to wait for, since most of a tree are not our children.
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
// Signal 0 has no effect on them.
func (t *processTree) signal(s syscall.Signal) bool {
	// The group goes first: one call reaches all of it, a process that is being
	// forked included.
	err := syscall.Kill(-t.pid, s)
	if alive, known := t.signalDescendants(s); known {
		return alive
	}
	return err == nil || errors.Is(err, syscall.EPERM)
}
