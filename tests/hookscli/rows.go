package hookscli

import (
	"fmt"
	"strings"
)

// Host is an agent's program.
type Host string

// The hosts.
const (
	Claude Host = "claude"
	CLI2   Host = "cli2"
	CLI3   Host = "cli3"
)

// Handler is one hook of a row.
type Handler struct {
	// Event and Matcher are those of the hook's group.
	Event, Matcher string
	// Script is what the hook does when it is called for the row's own action, in
	// POSIX shell. $p holds its standard input.
	Script string
	// Always runs Script, and records the call, for whatever it is called: the
	// event has no action.
	Always bool
	// Missing makes the hook a program that does not exist.
	Missing bool
	// Project puts the hook into the project's own file.
	Project bool
	// More are further members of the handler, such as "if".
	More map[string]any
}

// Kind is a kind of action.
type Kind int

// The kinds of action.
const (
	Bash Kind = iota + 1
	Write
	Edit
	Read
)

// Action is what the model asks for, in no host's own words. Paths are relative
// to the workspace.
type Action struct {
	Kind Kind
	// Commands are those of Bash, Paths the files of the other kinds. Hosts that
	// take one at a time are asked several times.
	Commands, Paths []string
	// Old and New are the texts of Edit, New the one of Write.
	Old, New string
}

// Outcome is what became of a row.
type Outcome struct {
	// Left is what the row's File holds afterwards; empty where there is none.
	Left string
	// Told are those of the row's Texts that reached the model.
	Told []string
	// Stopped says that the agent ended its work because of the hook, and Shown
	// that the user was shown a text of the row then.
	Stopped, Shown bool
	// Calls are the calls of the row's hooks, as "event tool", sorted, each once.
	Calls []string
}

// Row is one line of the table.
type Row struct {
	// Name is made of lower-case letters and hyphens. It is in every path and
	// command of the row as "row-NAME.", by which its hooks know their action.
	Name string
	// What says what the row shows.
	What     string
	Handlers []Handler
	// Files are there beforehand, relative to the workspace.
	Files   map[string]string
	Actions []Action
	// File is the one whose content is compared.
	File string
	// Texts are what may reach the model.
	Texts []string
	// Want is what Claude Code does.
	Want Outcome
	// Denied says that Want holds a denied call, which stops Cline where it is not
	// softened. Softens says that CLI 3 can soften it.
	Denied, Softens bool
	// Before are those of the Texts that actions ahead of the denied one have.
	Before []string
	// Except are the outcomes of hosts that cannot do as Claude Code does, and
	// Why says why.
	Except map[Host]Outcome
	Why    string
}

// Mark is what the row's paths and commands hold.
func (r *Row) Mark() string { return "row-" + r.Name + "." }

// On is what is wanted of a host. soft says that its denials are softened.
func (r *Row) On(h Host, soft bool) Outcome {
	if o, ok := r.Except[h]; ok {
		return o
	}
	o := r.Want
	if h != Claude && r.Denied && !(soft && r.Softens) {
		// CLI 3 says no more than that it was "aborted by another client".
		o.Told, o.Stopped, o.Shown = r.Before, true, h != CLI3
	}
	return o
}

const (
	pre    = "PreToolUse"
	post   = "PostToolUse"
	failed = "PostToolUseFailure"
)

// bash is an action of one command.
func bash(command string) Action { return Action{Kind: Bash, Commands: []string{command}} }

// leaves is a command that leaves "done" in the row's file.
func leaves(name string) Action { return bash("echo done > row-" + name + ".out") }

func on(event, matcher, script string) Handler {
	return Handler{Event: event, Matcher: matcher, Script: script}
}

func with(h Handler, more map[string]any) Handler {
	h.More = more
	return h
}

// says is a script that answers with JSON.
func says(format string, args ...any) string {
	return "cat <<'JSON'\n" + fmt.Sprintf(format, args...) + "\nJSON"
}

// specific is the hookSpecificOutput of an event.
func specific(event, members string) string {
	return says(`{"hookSpecificOutput":{"hookEventName":%q,%s}}`, event, members)
}

func refuses(reason string) string { return "echo '" + reason + "' >&2; exit 2" }

// calls are "event tool" pairs.
func calls(pairs ...string) []string {
	var out []string
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, strings.TrimSpace(pairs[i]+" "+pairs[i+1]))
	}
	return out
}
