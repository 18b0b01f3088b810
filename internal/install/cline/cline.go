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

var _ install.Installer = Installer{}
