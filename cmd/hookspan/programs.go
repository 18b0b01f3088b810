package main

import (
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

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
