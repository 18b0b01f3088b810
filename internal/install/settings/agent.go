// Package settings installs hookspan's hooks in the settings files of agents whose
// hooks have the form of Claude Code's: JSON with an object "hooks", which has for
// each event a list of groups of handlers. The package names no agent: a Spec
// describes one, and an Installer works on its files.
//
// An install adds entries and changes nothing else, neither order nor layout nor
// the spelling of a number. An uninstall takes them out again, so that the bytes
// are the former ones where nothing else has changed since. Settings that the
// agent could not read are refused, with line and column. Planning and Status
// write nothing.
//
// An agent adds up the hooks of the user, of the project and the user's own
// project settings, and runs equal ones once. An install goes into one of them,
// the user's by default. An entry is hookspan's if the program it starts is
// claude-hook without flags.
//
// The package does not promise that the agent runs what is installed: flags, an
// organisation or an editor can keep it from that. It reports the reasons that
// Spec.Off and Spec.Untrusted find.
package settings

import (
	"cmp"
	"context"
	"slices"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/install"
)

// defaultTimeout is how long an agent waits for a hook, in seconds. A hook answers
// in milliseconds; this bounds what a stuck disk can cost.
const defaultTimeout = 10

// Spec describes an agent and its settings files.
type Spec struct {
	// Agent is the agent. Its Folder is in the home folder and in projects,
	// the first of its Folders may name another in place of the one in the home folder.
	// HomeIsParent reports that the variable names the folder that contains this.
	Agent        hook.Agent
	HomeIsParent bool
	// File is the path of the settings file in the agent's folder, LocalFile that of
	// install.ScopeLocal, for agents with this scope.
	File, LocalFile string
	// ManagedDir is the folder of an organisation's settings by operating system, in
	// Go's spelling; systems that are not named have that of "linux". If nil, the
	// agent has no such settings. ManagedFile is the settings file there, and
	// ManagedPattern matches more of them; if empty, there are no more.
	ManagedDir                  map[string]string
	ManagedFile, ManagedPattern string
	// ManagedHooks is the path in ManagedDir of the file that hookspan's hooks go into
	// for everybody on the machine; it is TOML if its name says so. If empty, the agent
	// has no such hooks. ManagedEmpty is that file without hooks; if empty, "{}\n".
	// ManagedFlat reports that its handlers are in no groups.
	ManagedHooks, ManagedEmpty string
	ManagedFlat                bool
	// Listed reports that the hooks of a TOML file are a list [[hooks]] whose elements name the
	// event and the command.
	Listed bool
	// SwitchesFile is the path of one more settings file in the agent's folder, one
	// without hooks. If empty, there is none.
	SwitchesFile string

	// Members are what the settings may have beside hooks. If nil, anything.
	Members []string
	// Comments reports that the settings may have comments.
	Comments bool
	// NoMark reports that the agent does not read settings that begin with a byte order mark.
	NoMark bool
	// Events are the events that hookspan records, in the order of the settings.
	Events []Event
	// Timeout is how long the agent waits for a hook, in the agent's unit. If zero, 10,
	// for agents that count in seconds.
	Timeout int
	// WindowsShell reads the agent's commands on Windows. If zero, ShellPOSIX.
	WindowsShell Shell
	// ExecSince is the first version of the agent that starts a hook without a shell,
	// from a handler with "args". If zero, there is none.
	ExecSince Version

	// Version asks for the installed version, as the agent prints it. It returns "" if
	// the version is not known. If nil, it is not known.
	Version func(context.Context) (string, error)
	// Off returns why the agent does not run the user's hooks, each a sentence without
	// a final stop. files are those of Spec.Files. If nil, the agent runs them.
	Off func(sys install.System, files []File) []string
	// Untrusted returns the sentence, in the form of Off's, that the agent skips hooks in
	// a folder until the user trusts them. It is empty if the agent runs them or cannot
	// be asked. If nil, the agent runs them. TrustHint says how the user trusts hooks.
	Untrusted func(ctx context.Context, dir string) string
	TrustHint string
	// NoTrust follows TrustHint: what to do where the agent has no prompt for it.
	NoTrust string
	// Note is what else the help of the install says.
	Note string
}

// Event is an event that hookspan records.
type Event struct {
	// Name is the event's name in the settings.
	Name string
	// Since is the first version of the agent that has the event; an older one may
	// warn about the name. If zero, every version has it.
	Since Version
	// Timeout is how long the agent waits for the hook, in the agent's unit. If zero,
	// Spec.Timeout.
	Timeout int
}

// Events returns events that every version of an agent has.
func Events(names ...string) []Event {
	events := make([]Event, len(names))
	for i, name := range names {
		events[i].Name = name
	}
	return events
}

// event finds an event that hookspan records.
func (a *Spec) event(name string) (Event, bool) {
	if i := slices.IndexFunc(a.Events, func(ev Event) bool { return ev.Name == name }); i >= 0 {
		return a.Events[i], true
	}
	return Event{}, false
}

// hookArgs are the hook program's arguments for an event.
func (a *Spec) hookArgs(event string) []string {
	if word := a.Agent.Argument(); word != "" {
		return []string{word, event}
	}
	return []string{event}
}

// timeout is how long the agent waits for an event's hook.
func (a *Spec) timeout(ev Event) int { return cmp.Or(ev.Timeout, a.Timeout, defaultTimeout) }
