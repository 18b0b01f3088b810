package lab

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// CanAwait says that a delivery that a hook has started can be waited for.
const CanAwait = true

// adopt makes orphans below this process its children: a delivery becomes one
// in the moment its hook ends.
func adopt() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// AwaitDeliveries waits for the deliveries that hooks of this home folder have
// started.
func AwaitDeliveries(home string) error { return deliveries(home, nil) }

// StopDeliveries asks them to end, with the signal that services and users send,
// and waits for that.
func StopDeliveries(home string) error {
	return deliveries(home, func(pid int) error { return syscall.Kill(pid, syscall.SIGTERM) })
}

// EndDeliveries ends those that linger because a destination is down.
func EndDeliveries(home string) error {
	return deliveries(home, func(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) })
}

// Delivery returns the id of one of them, 0 if there is none.
func Delivery(home string) (found int) {
	return process(func(pid int) bool { return isDelivery(pid, home) })
}

// Program returns the id of a process of a group that runs the program, 0 if there is none.
func Program(group int, name string) int {
	return process(func(pid int) bool {
		of, err := unix.Getpgid(pid)
		exe, _ := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe")
		return err == nil && of == group && filepath.Base(exe) == name
	})
}

func process(is func(pid int) bool) int {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && is(pid) {
			return pid
		}
	}
	return 0
}

// Kill kills a process and reports whether there was one.
func Kill(pid int) bool { return pid > 0 && syscall.Kill(pid, syscall.SIGKILL) == nil }

// AwaitGroup waits for the processes of a group that have become this process's children.
func AwaitGroup(group int) error {
	for {
		switch _, err := syscall.Wait4(-group, nil, 0, nil); {
		case errors.Is(err, syscall.ECHILD):
			return nil
		case err != nil && !errors.Is(err, syscall.EINTR):
			return fmt.Errorf("wait for group %d: %w", group, err)
		}
	}
}

func deliveries(home string, first func(pid int) error) error {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return err
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err == nil && hasEnded(pid) {
			_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil) // another may have done so
		}
		if err != nil || !isDelivery(pid, home) {
			continue
		}
		if first != nil {
			if err := first(pid); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("end delivery %d: %w", pid, err)
			}
		}
		for {
			_, err := syscall.Wait4(pid, nil, 0, nil)
			if err == nil || errors.Is(err, syscall.ECHILD) {
				break
			}
			if !errors.Is(err, syscall.EINTR) {
				return fmt.Errorf("wait for delivery %d: %w", pid, err)
			}
		}
	}
	return nil
}

// hasEnded says that a process is a delivery that ended without being waited for. Of such a one
// only its number is left, of which a long test would use up all. It began a session, as the
// processes that this one starts and waits for do not.
func hasEnded(pid int) bool {
	f := stat(pid)
	return len(f) > 3 && f[0] == "Z" && f[1] == strconv.Itoa(os.Getpid()) && f[3] == strconv.Itoa(pid)
}

// stat is what the system says of a process: its state, its parent, its group, its session and more.
func stat(pid int) []string {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil
	}
	// pid (name) state ppid; the name may hold blanks and brackets.
	return strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
}

// isDelivery looks at a process's parent, its words and its environment.
func isDelivery(pid int, home string) bool {
	if f := stat(pid); len(f) < 2 || f[1] != strconv.Itoa(os.Getpid()) {
		return false
	}
	holds := func(file, want string) bool {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/" + file) //nolint:gosec // A file of /proc.
		return err == nil && slices.Contains(splitNul(b), want)
	}
	return holds("cmdline", "--detached") && holds("environ", "HOME="+home)
}

func splitNul(b []byte) []string {
	var out []string
	for part := range bytes.SplitSeq(b, []byte{0}) {
		out = append(out, string(part))
	}
	return out
}
