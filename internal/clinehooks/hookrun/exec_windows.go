package hookrun

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// supervisor starts hooks.
type supervisor struct{}

func newSupervisor() *supervisor { return &supervisor{} }

// processTree is a hook and everything that it has started: a job object.
type processTree struct {
	job windows.Handle
}

// spawn starts a command without a window. It is put into its job once it runs: a
// process that it starts before that is not in the job, which takes longer than
// any shell needs to begin. Unless it is detached, the system ends the job with
// this process.
func (n *supervisor) spawn(cmd *exec.Cmd, _ string, detached bool) (*processTree, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{
		HideWindow: true, CreationFlags: windows.CREATE_NO_WINDOW | windows.CREATE_NEW_PROCESS_GROUP,
	}
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, fmt.Errorf("job object for the hook: %w", err)
	}
	f := &processTree{job: job}
	if !detached {
		f.endWithUs(windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE)
	}
	if err := cmd.Start(); err != nil {
		f.release()
		return nil, fmt.Errorf("start the hook: %w", err)
	}
	h, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(cmd.Process.Pid)) //nolint:gosec // ids fit
	if err == nil {
		err = windows.AssignProcessToJobObject(job, h)
		_ = windows.CloseHandle(h)
	}
	if err != nil {
		// Without a job only the one process can be stopped; it may have ended.
		f.release()
	}
	return f, nil
}

func (n *supervisor) close() {}

// endWithUs sets what becomes of the job when its last handle is closed, which
// this process holds. Where it fails, the job outlives us.
func (f *processTree) endWithUs(flags uint32) {
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	info.BasicLimitInformation.LimitFlags = flags
	_, _ = windows.SetInformationJobObject(f.job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info))) //nolint:gosec // how the system takes it
}

func (f *processTree) ended() {}

// stop ends all of the job. Windows has no polite form for programs without a
// window.
func (f *processTree) stop() {
	if f.job != 0 {
		_ = windows.TerminateJobObject(f.job, 1)
	}
}

// stopHolders ends the job, since it is not known which process holds the pipes.
func (f *processTree) stopHolders(...*os.File) { f.stop() }

// release lets go of the job; without a limit its processes live on.
func (f *processTree) release() {
	if f.job != 0 {
		f.endWithUs(0)
		_ = windows.CloseHandle(f.job)
		f.job = 0
	}
}
