//go:build !windows

package record

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// harden lets a crash of the Go runtime end with a signal, not with exit code 2,
// which Claude Code takes for "block", and leave no core file. The limit is the soft
// one, which a child process can raise again. This process also ignores Ctrl-C,
// Ctrl-\, at which a Go program prints its stacks, and a closed terminal: the agent
// may continue, or report its end to its hooks, and that event must not be lost.
//
// The function returned makes child processes start with the default for these
// signals, as scripts expect: they inherit a signal that is ignored, but not one
// that is caught. Catching them from the start would cost every call 50 µs. A
// signal that was ignored before, as by nohup, stays ignored.
func harden() (restoreSignals func()) {
	var core syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_CORE, &core) == nil {
		core.Cur = 0
		_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &core)
	}
	ignored := make([]os.Signal, 0, 4)
	for _, sig := range [...]os.Signal{syscall.SIGPIPE, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT} {
		if !signal.Ignored(sig) {
			ignored = append(ignored, sig)
		}
	}
	signal.Ignore(ignored...)
	return func() {
		if len(ignored) > 0 {
			signal.Notify(make(chan os.Signal, 1), ignored...)
		}
	}
}

// OwnFiles removes from the umask the bits that would keep the owner from the files
// and folders that this program creates, such as its database. The bits for the
// group and others stay.
func OwnFiles() {
	syscall.Umask(syscall.Umask(0o077) &^ 0o700)
}

// reserveFDs reports whether three more file descriptors are available, one for a
// file and two with which the Go runtime waits for files and timers, and makes the
// runtime take its two now. It would do so at the first file or timer, and end the
// process with a traceback on standard error if it fails. Standard input is always
// open: the runtime opens the null device if it was not.
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
	_ = syscall.Close(pipe[1])
	// A file that does not block is one that the runtime waits for.
	_ = syscall.SetNonblock(pipe[0], true)
	_ = os.NewFile(uintptr(pipe[0]), "").Close()
	return true
}

// input returns a reader of f that ends with errDeadline after the time limit. A
// timer would cost every call a switch to another thread.
func input(f *os.File, limit time.Duration) io.Reader {
	return &polled{f, time.Now().Add(limit)}
}

type polled struct {
	file *os.File
	end  time.Time
}

// Read implements io.Reader.
func (p *polled) Read(b []byte) (int, error) {
	for {
		left := time.Until(p.end)
		if left <= 0 {
			return 0, errDeadline
		}
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(p.file.Fd()), Events: unix.POLLIN}}, int(left/time.Millisecond)+1) //nolint:gosec // A descriptor fits.
		if n == 0 && err == nil || errors.Is(err, syscall.EINTR) {
			continue
		}
		return p.file.Read(b)
	}
}

// loginHome returns the home folder from the user database's file. os/user would
// ask the C library if cgo is on; users that only it knows have HOME set.
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

// startFolder is the folder in which a delivery starts: one that is never unmounted
// or deleted.
func startFolder(string) string { return "/" }

// Detach starts a program in a new session, without this process's open files or those
// that it inherited: the agent waits until no process holds the hook's output, and a
// script may wait for a lock that it holds by a descriptor. The agent kills a hook's
// process group when it shuts down.
func Detach(path string, args, environ []string, dir string) error {
	_, err := detach(path, args, environ, dir)
	return err
}

// DetachReaped is Detach for a process that runs for long: it waits for the program
// in the background, so that none stays in the process table.
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
	closeInherited()
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

// closeInherited makes every descriptor above 2 end at the start of a program. Those
// that this process opened do so anyway.
func closeInherited() {
	dir, err := os.Open("/dev/fd") //nolint:gosec // A folder of the system's.
	if err != nil {
		return
	}
	defer func() { _ = dir.Close() }()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if fd, err := strconv.Atoi(name); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}
