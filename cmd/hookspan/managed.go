package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/internal/files/regular"
	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/install/programs"
	"github.com/hookspan/hookspan/internal/provision"
)

// installManaged puts the hooks into the settings of an organisation, for everybody on
// the machine, or takes them out. It does so for every agent that has such settings,
// whether it is here yet or not.
func installManaged(a *app, cmd *cobra.Command, undo, dryRun bool) error {
	provision.ForEverybody()
	changed := false
	var errs []error
	for _, agent := range a.agents {
		if !agent.Managed {
			continue
		}
		var plan *install.Plan
		o := install.Options{Scope: install.ScopeManaged}
		run := agent.Installer.PlanUninstall
		var err error
		if !undo {
			o.Binary, err = managedProgram(a, agent.Program, dryRun)
			run = agent.Installer.Plan
			if failed := install.Start(cmd.Context(), o.Binary); err == nil && failed != nil {
				a.warnf("%v; these hooks record nothing where that is so", failed) // an image may be built elsewhere
			}
		}
		if err == nil {
			plan, err = run(cmd.Context(), machineOf(a).System(), o)
		}
		if err == nil {
			a.printf("%s\n", agent.Name)
			var did bool
			did, err = applyPlan(a, plan, "", dryRun)
			changed = changed || did
		}
		if err != nil {
			// One agent's fault does not keep the others from being installed.
			errs = append(errs, fmt.Errorf("%s: %w", agent.Name, err))
		}
	}
	switch {
	case changed && undo:
		a.printf("\nuninstalled: no agent on this machine runs these hooks any more\n")
	case changed:
		a.printf("\neverybody's agents on this machine now run these hooks; hookspan status shows them\n")
	}
	return errors.Join(errs...)
}

// managedProgram is the hook program for everybody on the machine: beside this program,
// where no one but the administrator can replace it.
func managedProgram(a *app, program string, dryRun bool) (string, error) {
	path, err := hookProgram(a, program, "")
	if err != nil {
		return "", err
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return "", err
	}
	f, _, err := regular.Open(path, regular.Options{Rooted: true})
	switch {
	case err == nil:
		return path, f.Close()
	case dryRun:
		a.warnf("%v", err)
		return path, nil
	}
	return "", hinted{
		fmt.Errorf("everybody's agents would run a program that others can change: %w", err),
		"install hookspan for the whole machine, with its .deb or .rpm or into /usr/local/bin, and run that one",
	}
}

// copiesOf is where the programs are that hooks start. Its path is empty without a
// home folder.
func copiesOf(a *app) programs.Folder {
	f, err := programs.Of(a.goos, a.home, a.getenv)
	if err != nil {
		return programs.Folder{}
	}
	return f
}

// refreshing are the commands that only people start.
var refreshing = []string{"status", "doctor", "test", "list", "stats", "tail", "show", "export", "verify", "ui"}

// refreshPrograms replaces the copies by the programs beside this one if these are
// of a newer release, or if an earlier replacement was interrupted. Without success
// the older ones keep working.
func refreshPrograms(cmd *cobra.Command, a *app) {
	if cmd.Parent() != cmd.Root() || !slices.Contains(refreshing, cmd.Name()) {
		return
	}
	self, err := hookProgram(a, "hookspan", "")
	if err != nil {
		return
	}
	if _, err := copiesOf(a).Refresh(cmd.Context(), filepath.Dir(self), buildVersion()); err != nil {
		a.log.Line("hook programs not replaced by newer ones: " + err.Error())
	}
}
