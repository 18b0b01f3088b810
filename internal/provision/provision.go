// Package provision brings hookspan's programs and hooks onto a machine, and finds the
// agents that are there. It prints nothing and asks nothing.
package provision

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/agents"
	"github.com/hookspan/hookspan/internal/diagnose"
	"github.com/hookspan/hookspan/internal/files/filelock"
	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/install/cline"
	"github.com/hookspan/hookspan/internal/install/programs"
	"github.com/hookspan/hookspan/internal/lookpath"
	"github.com/hookspan/hookspan/internal/pipeline"
	"github.com/hookspan/hookspan/internal/termtext"
)

// Machine is where hookspan is installed.
type Machine struct{ *diagnose.Machine }

// copies is where the programs are that hooks start.
func (m Machine) copies() (programs.Folder, error) {
	return programs.Of(m.Setup.GOOS, m.Setup.Home, m.Setup.Getenv)
}

// UseCopy lets hooks start the copy of a program that CopyPrograms makes.
func (m Machine) UseCopy(program string, o *install.Options) (err error) {
	if o.Source, err = m.Program(program); err != nil {
		return err
	}
	f, err := m.copies()
	o.Binary = f.Program(program)
	return err
}

// CopyPrograms copies the programs beside this one to where hooks start them. It
// reports whether that changed one.
func (m Machine) CopyPrograms(ctx context.Context) (changed bool, err error) {
	self, err := m.Program("hookspan")
	if err != nil {
		return false, err
	}
	f, err := m.copies()
	if err != nil {
		return false, err
	}
	return f.Install(ctx, filepath.Dir(self), m.Setup.Version)
}

// copied reports that the copies are of this version: an uninstall may have removed them.
func (m Machine) copied() bool {
	f, err := m.copies()
	if err != nil {
		return false
	}
	v, err := f.Version()
	return err == nil && v == m.Setup.Version
}

// lockWait bounds the wait for another install or uninstall.
const lockWait = 30 * time.Second

// Alone calls f while no other install or uninstall of the user copies or removes programs
// or changes hooks: else one could remove the programs that the other's hooks start.
func (m Machine) Alone(ctx context.Context, f func() error) error {
	if !filepath.IsAbs(m.Setup.Home) {
		return f()
	}
	wait, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	lock, err := filelock.Folder(wait, m.Setup.Home)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return errors.New("another hookspan install is running: wait for it or end it")
	case err != nil:
		return f() // a home that cannot be opened has no hooks of another's
	}
	return errors.Join(f(), lock.Close())
}

// StartCopy starts the copy of a program, as hooks do. If it does not start, and no hook
// needs them, the copies go.
func (m Machine) StartCopy(ctx context.Context, path string) error {
	err := install.Start(ctx, path)
	if err != nil {
		return errors.Join(err, m.RemovePrograms(ctx))
	}
	return nil
}

// RemovePrograms removes the copies, unless an agent's hooks or an install record
// still name them, and the copies in other folders that hooks started which were taken out.
func (m Machine) RemovePrograms(ctx context.Context, started ...string) error {
	record, err := install.ReadManifest(m.Setup.Config.StateDir)
	if err != nil {
		return err
	}
	used := make(map[string]bool) // folders
	for _, r := range record.Settings {
		for _, program := range r.Programs {
			used[filepath.Dir(program)] = true
		}
	}
	present := len(record.Folders)+len(record.Settings) > 0
	if !present {
		install.RemoveState(m.Setup.Config.StateDir)
	}
	for _, agent := range m.Setup.Agents {
		report, err := m.HookStatus(ctx, agent)
		if err != nil { // Without a variable that is wrong, it finds what else could start them.
			sys := m.System()
			sys.Getenv = nil
			if report, err = agent.Installer.Status(ctx, sys, install.Options{Dir: m.Dir}); err != nil {
				return err
			}
		}
		present = present || report.Present()
		for _, s := range report.Sites {
			for _, h := range s.Hooks {
				used[filepath.Dir(h.Program)] = true
			}
		}
	}
	f, err := m.copies()
	if err != nil {
		return err
	}
	if !present {
		err = f.Remove(ctx)
	}
	for _, program := range started {
		if other := (programs.Folder{Path: filepath.Dir(program), GOOS: f.GOOS}); other.Path != f.Path && !used[other.Path] && other.Copied() {
			err = errors.Join(err, other.Remove(ctx))
		}
	}
	return err
}

// Cline reports the state of Cline's hooks.
func (m Machine) Cline(ctx context.Context) (*install.Report, error) {
	agent, _ := m.Setup.Agents.Named(hook.HostCline)
	return m.HookStatus(ctx, agent)
}

// GuardInPlace reports that a hook of the user's runs before tool calls, and that
// Cline in editors has the hook file for it.
func (m Machine) GuardInPlace(ctx context.Context, project string) (bool, error) {
	if !m.Own.Guards().Need(project) {
		return false, nil
	}
	report, err := m.Cline(ctx)
	if err != nil {
		return false, err
	}
	return cline.HostsOf(report, project).Guard(), nil
}

// Found is an agent on this machine.
type Found struct {
	Agent agents.Agent
	// Where is what shows that it is here.
	Where string
	// Installed reports that its hooks are in place, Off that it does not run them.
	Installed, Off bool
}

// Agents returns the agents on this machine and those that have hooks already, and the
// files that were passed over in the search.
func (m Machine) Agents(ctx context.Context) (found []Found, passed []lookpath.PassedOver, err error) {
	files := m.Setup.Files()
	for _, agent := range m.Setup.Agents {
		report, err := m.HookStatus(ctx, agent)
		if err != nil {
			return nil, passed, err
		}
		where, over := agent.FoundIn(ctx, files)
		passed = append(passed, over...)
		for _, s := range report.Sites {
			if s.Present && where == "" {
				where = s.Path
			}
		}
		if where != "" {
			off := len(report.Off) > 0
			report.Off = nil // an install does not change that
			found = append(found, Found{agent, where, report.Healthy(), off})
		}
	}
	return found, passed, nil
}

// Past are the sessions that an agent has in its own files.
type Past struct {
	Agent    agents.Agent
	Sessions int
}

// String says how many sessions there are of which agent.
func (p Past) String() string { return termtext.Plural(p.Sessions, "session") + " of " + p.Agent.Name }

// PastSessions returns the agents that have sessions on this machine. What cannot be read
// counts, with no session: the import reports it.
func PastSessions(ctx context.Context, s *pipeline.Setup) (out []Past) {
	files := s.Files()
	for _, agent := range s.Agents {
		found, err := files.Sessions(ctx, agent.Transcript)
		if len(found) > 0 || err != nil {
			out = append(out, Past{agent, len(found)})
		}
	}
	return out
}
