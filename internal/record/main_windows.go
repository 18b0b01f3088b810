package record

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// harden keeps Ctrl-C, which every process of a console gets, from ending this one:
// the agent may continue, and the event must not be lost. The signal is caught,
// since one that is ignored still ends a Go program on Windows. A crash leaves no
// core file, and a broken pipe is an ordinary error. Child processes inherit
// nothing of this, so the function returned is nil.
func harden() (restoreSignals func()) {
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	return nil
}

// reserveFDs reports true: Windows has no limit on handles.
func reserveFDs() bool { return true }

// input returns a reader of f that ends with errDeadline after the time limit. A read
// that hangs is abandoned; the process ends soon after.
func input(f *os.File, limit time.Duration) io.Reader {
	r, w := io.Pipe()
	go func() {
		_, err := io.Copy(w, f)
		_ = w.CloseWithError(err)
	}()
	time.AfterFunc(limit, func() { _ = w.CloseWithError(errDeadline) })
	return r
}

// loginHome returns nothing: Windows sets USERPROFILE for every process.
func loginHome() string { return "" }

// startFolder is the folder in which a delivery starts: the state folder, which
// exists once an event is stored. If it is empty, it is the hook's folder.
func startFolder(state string) string { return state }

// detachedProcess is DETACHED_PROCESS of the Windows API.
const detachedProcess = 0x00000008

// Detach starts a program without a console and without this process's open files.
func Detach(path string, args, environ []string, dir string) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { _ = null.Close() }()
	p, err := os.StartProcess(path, append([]string{path}, args...), &os.ProcAttr{ //nolint:gosec // A program beside this one.
		Dir: dir, Env: environ, Files: []*os.File{null, null, null},
		Sys: &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP | detachedProcess, HideWindow: true},
	})
	if err != nil {
		return fmt.Errorf("start %s: %w", path, err)
	}
	return p.Release()
}

// DetachReaped is Detach: Windows needs no wait for a program that has ended.
func DetachReaped(path string, args, environ []string, dir string) error {
	return Detach(path, args, environ, dir)
}

// OwnFiles does nothing: Windows has no umask.
func OwnFiles() {}
