//go:build !windows

package statusline

import (
	"os/exec"
	"syscall"
)

// endAll has the end of a command's time end all that it started, too.
func endAll(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
