// Package cline installs hookspan's hook files in the folders from which Cline
// reads hooks.
//
// It does not promise that Cline runs what is installed: hooks can be switched
// off in Cline's settings, and an open editor window may keep its list of hooks.
// The plan's warnings say so.
//
// # Where the hooks go
//
// Cline has three implementations of hooks, called dialects here. "Classic" and
// "next" run inside the editors and look in the user's documents folder as the
// system names it, which is not ~/Documents everywhere; "sdk" runs in the command
// line program and looks in ~/Documents/Cline/Hooks and ~/.cline/hooks. All three
// look in a project's .clinerules/hooks. A PreToolUse file in a folder that
// classic reads has a risk: in the CLI 2 it can stop a task dead, whatever it
// answers, and in VS Code a denied call leaves Cline stuck. So PreToolUse goes
// into ~/.cline/hooks alone unless the options ask for it. An event never goes
// into two folders that one dialect reads.
package cline

import (
	"context"

	"github.com/hookspan/hookspan/internal/install"
)

// Installer implements install.Installer for Cline. The zero value is ready to use.
type Installer struct {
	// DocumentsDir returns the user's documents folder, or "" where there is none
	// besides ~/Documents. If nil, the running system is asked.
	DocumentsDir func(context.Context) (string, error)
}

// PreToolUseRisk is what the user must know before PreToolUse goes where
// classic Cline reads it.
const PreToolUseRisk = `The PreToolUse hook goes into ~/.cline/hooks alone by default. Where Cline's classic
core reads it, it has a risk. CLI 2: a task stops dead when a later tool reads a
missing file, whatever the hook answers; in VS Code that was not seen. VS Code: a call
that a hook denies leaves Cline stuck until the window is reloaded. Without it a tool's
span begins at its end less the duration that Cline reports, which includes the time
you took to approve it, and a call that never returns has no span.`

// Command describes the command that installs the hooks, or with undo the one that removes
// them.
func Command(undo bool) install.Command {
	if undo {
		return install.Command{
			Short: "Remove hookspan's hooks from Cline and put chained ones back",
			Long: `Remove exactly what hookspan install cline wrote, put chained hooks back as they
were, and leave everything else. Traces and settings stay.`,
			Flags: map[string]string{"force": "remove hookspan hook files that were edited, too"},
		}
	}
	return install.Command{
		Short: "Let Cline report to hookspan",
		Long: `Write hookspan's hook files into the folders from which Cline reads hooks on this
system. A file that is not hookspan's is never touched; --chain has hookspan run it
as well. hookspan uninstall cline undoes all of it.

` + PreToolUseRisk,
		Flags: map[string]string{
			"force":        "rewrite hookspan hook files that were edited",
			"pre-tool-use": "install PreToolUse for classic Cline too (see above for the risk); where your hooks need it, it stays until --pre-tool-use=false",
			"chain":        "where your hook is in the way, run it too and merge both answers",
			"project":      "install into this project's .clinerules/hooks in place of your own folders",
		},
	}
}
