//go:build !windows && !linux

package hookrun

import (
	"os"
	"os/exec"
	"syscall"
)

// supervisor starts hooks. Without a list of descendants, only a hook's group can be
// stopped.
type supervisor struct{}

// processTree is a hook and everything that it has started.
type processTree struct {
	supervisor *supervisor
	mark       string
	pid        int
}

func (n *supervisor) begin(f *processTree, cmd *exec.Cmd, _ bool) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	f.pid = cmd.Process.Pid
	return nil
}

func (n *supervisor) close() {}

func (f *processTree) ended() {}

// stopHolders ends the group, since it is not known which process holds the pipes.
func (f *processTree) stopHolders(...*os.File) { f.stop() }

func (f *processTree) signalDescendants(syscall.Signal) (alive, known bool) { return false, false }
