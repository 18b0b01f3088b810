package main

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/install/programs"
)

// copiesOf is where the programs are that hooks start. Its path is empty without a
// home folder.
func copiesOf(a *app) programs.Folder {
	f, err := programs.Of(a.goos, a.home, a.getenv)
	if err != nil {
		return programs.Folder{}
	}
	return f
}

// useCopy lets hooks start the copy of a program that copyPrograms makes.
func useCopy(a *app, program string, o *install.Options) (err error) {
	if o.Source, err = hookProgram(a, program, ""); err != nil {
		return err
	}
	f, err := programs.Of(a.goos, a.home, a.getenv)
	o.Binary = f.Program(program)
	return err
}

// copyPrograms copies the programs beside this one to where hooks start them. It
// reports whether that changed one.
func copyPrograms(ctx context.Context, a *app) (changed bool, err error) {
	self, err := hookProgram(a, "hookspan", "")
	if err != nil {
		return false, err
	}
	f, err := programs.Of(a.goos, a.home, a.getenv)
	if err != nil {
		return false, err
	}
	return f.Install(ctx, filepath.Dir(self), buildVersion())
}

// removePrograms removes the copies, unless an agent's hooks or an install record
// still name them.
func removePrograms(ctx context.Context, a *app) error {
	record, err := install.ReadManifest(a.cfg.StateDir)
	if err != nil {
		return err
	}
	if len(record.Folders)+len(record.Settings) > 0 {
		return nil
	}
	for _, agent := range a.agents {
		report, err := machineOf(a).HookStatus(ctx, agent)
		if err != nil {
			return err
		}
		if report.Present() {
			return nil
		}
	}
	f, err := programs.Of(a.goos, a.home, a.getenv)
	if err != nil {
		return err
	}
	return f.Remove(ctx)
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
