// Package claude installs hookspan's hooks in Claude Code's settings files, and in
// those of Qwen Code, which have the same form.
//
// An install adds entries and changes nothing else, neither order nor layout nor
// the spelling of a number. An uninstall takes them out again, so that the bytes
// are the former ones where nothing else has changed since. Settings that Claude
// Code could not read are refused, with line and column.
//
// Claude Code adds up the hooks of the user, of the project and the user's own
// project settings, and runs equal ones once. An install goes into one of them,
// the user's by default. An entry is hookspan's if the program it starts is
// claude-hook with an event's name or no argument. What is said here of Claude Code
// holds for Qwen Code, unless it says otherwise.
package claude

import (
	"context"

	"github.com/hookspan/hookspan/internal/install"
)

// Installer implements install.Installer for Claude Code. The zero value is ready
// to use.
type Installer struct {
	// Version returns the version of Claude Code as "claude --version" prints it,
	// or "" where it is not known. If nil, the claude on PATH is asked.
	Version func(context.Context) (string, error)
	// ManagedDir is the folder of an organisation's settings for Claude Code. If
	// empty, it is the system's.
	ManagedDir string

	of *product // nil for Claude Code
}

var _ install.Installer = Installer{}
