package hookproc

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// harden makes sure that Ctrl-C, which goes to everyone in a console, does not
// end this process: the agent may go on, and the event is not to be lost. The
// signal is caught, since one that is ignored still ends a Go program here.
// There is nothing more to do: a crash leaves no core file, and a broken pipe is
// an error like any other. Programs started from here inherit nothing of it, so
// the function returned is nil.
func harden() (restoreSignals func()) {
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	return nil
}

// reserveFDs reports whether there are handles to be had, which no limit is set to.
func reserveFDs() bool { return true }

// loginHome is not known: Windows sets USERPROFILE for every process.
func loginHome() string { return "" }

// startFolder is where a delivery starts: the state folder, which is there once
// an event is stored. If it is empty, the hook's own folder.
func startFolder(state string) string { return state }

// detachedProcess is DETACHED_PROCESS of the Windows API.
const detachedProcess = 0x00000008

// Detach starts a program without a console and with nothing of ours open.
func Detach(path string, args, environ []string, dir string) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { _ = null.Close() }()
	p, err := os.StartProcess(path, append([]string{path}, args...), &os.ProcAttr{
		Dir: dir, Env: environ, Files: []*os.File{null, null, null},
		Sys: &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP | detachedProcess, HideWindow: true},
	})
	if err != nil {
		return fmt.Errorf("start %s: %w", path, err)
	}
	return p.Release()
}

// DetachReaped is Detach for a process that lives on, which is the same here.
func DetachReaped(path string, args, environ []string, dir string) error {
	return Detach(path, args, environ, dir)
}

// OwnFiles does nothing: Windows has no umask.
func OwnFiles() {}
