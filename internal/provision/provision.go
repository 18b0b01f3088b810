// Package provision brings hookspan's programs and hooks onto a machine, and finds the
// agents that are there. It prints nothing and asks nothing.
package provision

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/hookspan/hookspan/internal/agents"
	"github.com/hookspan/hookspan/internal/diagnose"
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
// still name them.
func (m Machine) RemovePrograms(ctx context.Context) error {
	record, err := install.ReadManifest(m.Setup.Config.StateDir)
	if err != nil || len(record.Folders)+len(record.Settings) > 0 {
		return err
	}
	for _, agent := range m.Setup.Agents {
		report, err := m.HookStatus(ctx, agent)
		if err != nil || report.Present() {
			return err
		}
	}
	f, err := m.copies()
	if err != nil {
		return err
	}
	return f.Remove(ctx)
}

// Cline reports the state of Cline's hooks.
func (m Machine) Cline(ctx context.Context) (*install.Report, error) {
	agent, _ := m.Setup.Agents.Named("cline")
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
	return cline.ReachOf(report, project).Editors, nil
}

// Found is an agent on this machine.
type Found struct {
	agents.Agent
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
	agents.Agent
	Sessions int
}

// String says how many sessions there are of which agent.
func (p Past) String() string { return termtext.Plural(p.Sessions, "session") + " of " + p.Name }

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
