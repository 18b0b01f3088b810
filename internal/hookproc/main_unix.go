//go:build !windows

package hookproc

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// harden makes sure that no way for this process to die reads as a verdict: a
// crash of the Go runtime ends by signal rather than with exit code 2, which
// Claude Code takes for "block", and leaves no core file behind. The limit is
// the soft one, which a program that this one starts can undo. Nor does it die
// of what a terminal sends to everyone in it, when the user presses Ctrl-C or
// Ctrl-\ (of which a Go program prints its stacks) or closes it: the agent may go
// on, or tell its hooks of its end, and that event is not to be lost. A hook ends
// by itself soon enough, and by SIGTERM at once.
//
// The function returned gives the programs that are started from then on those
// signals at their default, which scripts count on: they inherit a signal that
// is ignored, but not one that is caught. Catching from the start would cost
// every call 50 µs. A signal that was ignored before, as nohup has it, stays so.
func harden() (restoreSignals func()) {
	var core syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_CORE, &core) == nil {
		core.Cur = 0
		_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &core)
	}
	ours := make([]os.Signal, 0, 4)
	for _, sig := range [...]os.Signal{syscall.SIGPIPE, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT} {
		if !signal.Ignored(sig) {
			ours = append(ours, sig)
		}
	}
	signal.Ignore(ours...)
	return func() {
		if len(ours) > 0 {
			signal.Notify(make(chan os.Signal, 1), ours...)
		}
	}
}

// OwnFiles takes out of the umask what would keep this program's owner from the
// files and folders that it makes, its database among them. What it says of the
// group and of others stays.
func OwnFiles() {
	syscall.Umask(syscall.Umask(0o077) &^ 0o700)
}

// reserveFDs reports whether three more descriptors are to be had, one for a file and
// two that the Go runtime takes to wait for files and timers, and makes it take
// them now. It does so at the first file or timer otherwise, and where that fails
// ends the process with a traceback on standard error. Standard input is always
// open, since the runtime opens the null device where it was not.
func reserveFDs() bool {
	fd, err := syscall.Dup(0)
	if err != nil {
		return false
	}
	var pipe [2]int
	err = syscall.Pipe(pipe[:])
	_ = syscall.Close(fd)
	if err != nil {
		return !errors.Is(err, syscall.EMFILE) && !errors.Is(err, syscall.ENFILE)
	}
	_, _ = syscall.Close(pipe[0]), syscall.Close(pipe[1])
	time.AfterFunc(time.Hour, func() {}).Stop()
	return true
}

// loginHome is the home folder in the user database's file. os/user would ask
// the C library where cgo is on; people whom only that knows have HOME set.
func loginHome() string {
	passwd, err := os.ReadFile("/etc/passwd")
	if err != nil {
		return ""
	}
	return passwdHome(string(passwd), os.Getuid())
}

// passwdHome is the home folder of the first entry with the uid, see passwd(5).
func passwdHome(passwd string, uid int) string {
	for line := range strings.Lines(passwd) {
		f := strings.Split(strings.TrimRight(line, "\r\n"), ":")
		if len(f) == 7 && f[2] == strconv.Itoa(uid) {
			return f[5]
		}
	}
	return ""
}

// startFolder is where a delivery starts: a folder that is always there, and
// that can be unmounted or deleted never.
func startFolder(string) string { return "/" }

// Detach starts a program in a session of its own with nothing of ours open:
// the agent waits until everyone who holds the hook's output has let go of it,
// and ends a hook's whole process group when it shuts down.
func Detach(path string, args, environ []string, dir string) error {
	_, err := detach(path, args, environ, dir)
	return err
}

// DetachReaped is Detach for a process that lives on. Without it, each program
// that has ended would stay in the process table until this one ends.
func DetachReaped(path string, args, environ []string, dir string) error {
	pid, err := detach(path, args, environ, dir)
	if err != nil {
		return err
	}
	// It ends when the program does, or with this process.
	go func() {
		var status syscall.WaitStatus
		for {
			if _, err := syscall.Wait4(pid, &status, 0, nil); !errors.Is(err, syscall.EINTR) {
				return
			}
		}
	}()
	return nil
}

func detach(path string, args, environ []string, dir string) (pid int, err error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer func() { _ = null.Close() }()
	fd := null.Fd()
	attr := &syscall.ProcAttr{
		Dir: dir, Env: environ, Files: []uintptr{fd, fd, fd},
		Sys: &syscall.SysProcAttr{Setsid: true},
	}
	// The program is hookspan itself, found beside this one.
	pid, err = syscall.ForkExec(path, append([]string{path}, args...), attr) //nolint:gosec // As said.
	if err != nil {
		return 0, fmt.Errorf("start %s: %w", path, err)
	}
	return pid, nil
}
