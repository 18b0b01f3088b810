//go:build !windows && !linux

package hookrun

import (
	"os"
	"os/exec"
	"syscall"
)

// nursery starts hooks. Where the system does not tell who descends from whom, a
// hook's group is all that can be stopped of it.
type nursery struct{}

// family is a hook and everything that it has started.
type family struct {
	nursery *nursery
	mark    string
	pid     int
}

func newNursery() *nursery { return &nursery{} }

func (n *nursery) begin(f *family, cmd *exec.Cmd, _ bool) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	f.pid = cmd.Process.Pid
	return nil
}

func (n *nursery) close() {}

func (n *nursery) end(*family) {}

// stopHolders ends the group, since nobody tells who of it holds the pipes.
func (f *family) stopHolders(...*os.File) { f.stop() }

func (f *family) signalRelatives(syscall.Signal) (alive, known bool) { return false, false }
