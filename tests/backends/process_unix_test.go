//go:build unix

package backends

import (
	"os/exec"
	"syscall"
)

// group makes a command the first process of a group, and kills the group when its context
// ends: MLflow starts some that outlive it.
func group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
