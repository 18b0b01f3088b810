package hookrun

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// shell is the program and the arguments for a shell line. As in Claude Code that
// is the Bash of Git for Windows, else PowerShell.
func (r *Runner) shell(kind, line string, env []string) (name string, args []string, err error) {
	power := []string{"-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass", "-Command", line}
	switch kind {
	case "", "bash":
		if bash := r.gitBash(env); bash != "" {
			return bash, []string{"-c", line}, nil
		}
		if kind == "bash" {
			return "", nil, errors.New("bash of Git for Windows is not installed; install it, set CLAUDE_CODE_GIT_BASH_PATH or use shell powershell")
		}
	case "powershell":
	default:
		return "", nil, fmt.Errorf("shell %q is not known; use bash or powershell", kind)
	}
	if _, err := r.find("pwsh", env); err == nil {
		return "pwsh", power, nil
	}
	return "powershell", power, nil
}

// gitBash finds the Bash of Git for Windows. The bash.exe of the system folder starts
// Linux.
func (r *Runner) gitBash(env []string) string {
	var places []string
	if p, ok := r.lookup(env, "CLAUDE_CODE_GIT_BASH_PATH"); ok {
		places = append(places, p)
	}
	if git, err := r.find("git", env); err == nil {
		places = append(places, filepath.Join(filepath.Dir(filepath.Dir(git)), "bin", "bash.exe"))
	}
	for _, v := range []string{"ProgramFiles", "ProgramFiles(x86)", "LocalAppData"} {
		if dir, ok := r.lookup(env, v); ok {
			places = append(places, filepath.Join(dir, "Git", "bin", "bash.exe"), filepath.Join(dir, "Programs", "Git", "bin", "bash.exe"))
		}
	}
	for _, p := range places {
		if info, err := os.Stat(p); err == nil && !info.IsDir() {
			return p
		}
	}
	return ""
}

// executable finds a file that can be started, with one of the usual endings.
func executable(name string) (string, error) {
	full, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("start %q: %w", name, errors.Join(os.ErrNotExist, err))
	}
	return full, nil
}

// shortages are the errors of a system that has no handles, processes or memory
// left.
var shortages = [...]error{
	windows.ERROR_TOO_MANY_OPEN_FILES, windows.ERROR_NOT_ENOUGH_MEMORY, windows.ERROR_OUTOFMEMORY, windows.ERROR_NO_SYSTEM_RESOURCES,
	windows.ERROR_COMMITMENT_LIMIT, windows.ERROR_NO_PROC_SLOTS, windows.ERROR_MAX_THRDS_REACHED, windows.ERROR_NOT_ENOUGH_QUOTA,
	windows.ERROR_WORKING_SET_QUOTA, windows.ERROR_PAGEFILE_QUOTA, windows.WSAEMFILE, windows.WSAENOBUFS,
}

// descriptors is how many handlers can run at a time by the limit of handles: a
// process has millions.
func descriptors() int { return math.MaxInt }

// supervisor starts hooks.
type supervisor struct{}

// processTree is a hook and everything that it has started: a job object.
type processTree struct {
	job windows.Handle
}

// spawn starts a command without a window. It is put into its job once it runs: a
// process that it starts before that is not in the job, which takes longer than
// any shell needs to begin. Unless it is detached, the system ends the job with
// this process.
func (s *supervisor) spawn(cmd *exec.Cmd, _ string, detached bool) (*processTree, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{
		HideWindow: true, CreationFlags: windows.CREATE_NO_WINDOW | windows.CREATE_NEW_PROCESS_GROUP,
	}
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, fmt.Errorf("job object for the hook: %w", err)
	}
	t := &processTree{job: job}
	if !detached {
		t.endWithUs(windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE)
	}
	if err := cmd.Start(); err != nil {
		t.release()
		return nil, fmt.Errorf("start the hook: %w", err)
	}
	h, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(cmd.Process.Pid)) //nolint:gosec // ids fit
	if err == nil {
		err = windows.AssignProcessToJobObject(job, h)
		_ = windows.CloseHandle(h)
	}
	if err != nil {
		// Without a job only the one process can be stopped; it may have ended.
		t.release()
	}
	return t, nil
}

// endWithUs sets what happens to the job when its last handle is closed, which this
// process holds. If it fails, the job outlives this process.
func (t *processTree) endWithUs(flags uint32) {
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	info.BasicLimitInformation.LimitFlags = flags
	_, _ = windows.SetInformationJobObject(t.job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info))) //nolint:gosec // how the system takes it
}

func (t *processTree) ended() {}

// stop ends the whole job. Windows cannot ask programs without a window to end.
func (t *processTree) stop() {
	if t.job != 0 {
		_ = windows.TerminateJobObject(t.job, 1)
	}
}

// stopHolders ends the job, since it is not known which process holds the pipes.
func (t *processTree) stopHolders(...*os.File) { t.stop() }

// release closes the job without ending its processes.
func (t *processTree) release() {
	if t.job != 0 {
		t.endWithUs(0)
		_ = windows.CloseHandle(t.job)
		t.job = 0
	}
}
