package settings

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/jsonedit"
)

// wantedHandler says what the handlers of an agent should be.
type wantedHandler struct {
	agent *Spec
	// version is the agent's version, as far as it is known.
	version Version
	binary  string
	// guarded asks for a program that starts without the variables of guards, which
	// needs a POSIX shell: env with "args" would print all variables where a version of
	// the agent that knows no "args" starts it alone.
	guarded bool
	// form is the form that the agent is known to run, else formAny.
	form form
	// shell reads the command of formShell.
	shell Shell
	force bool
	// flat asks for handlers without groups.
	flat bool
}

// wanted says what the handlers should be that start a program.
func (a *Spec) wanted(goos, binary string, v Version) wantedHandler {
	w := wantedHandler{agent: a, version: v, binary: binary, guarded: goos != "windows"}
	if !w.guarded {
		w.shell = a.WindowsShell
		if w.shell == ShellPOSIX {
			// Git Bash, PowerShell and the system all start a path with slashes.
			w.binary = strings.ReplaceAll(binary, `\`, "/")
		}
	}
	switch {
	case w.guarded || !a.ExecSince.known() || !v.has(a.ExecSince):
		w.form = formShell
	case v.known():
		w.form = formExec
	}
	return w
}

// render writes an event's handler. A timeout and other members that the user set
// are kept.
func (w wantedHandler) render(ev Event, timeout string, extras jsonedit.Object) jsonedit.Object {
	form := w.form
	if form == formAny {
		// Every version starts a shell. An old one gives "command" to it without "args":
		// the right program if its path is one word.
		form = formShell
		if plain(w.binary, plainEverywhere) {
			form = formExec
		}
	}
	command := w.binary
	args := w.agent.hookArgs(ev.Name)
	if form != formExec {
		command, args = w.shell.line(w.binary, args), nil
		if w.guarded {
			command = strings.Join(guards(), " ") + " " + command
		}
	}
	o := jsonedit.Object{{Key: "type", Value: "command"}, {Key: "command", Value: command}}
	if args != nil {
		var list jsonedit.Array
		for _, arg := range args {
			list = append(list, arg)
		}
		o = append(o, jsonedit.Field{Key: "args", Value: list})
	}
	var wait any = w.agent.timeout(ev)
	if timeout != "" {
		wait = jsonedit.Raw(timeout)
	}
	return append(append(o, jsonedit.Field{Key: "timeout", Value: wait}), extras...)
}

// group writes the group that holds an event's handler.
func (w wantedHandler) group(ev Event) jsonedit.Object {
	h := w.render(ev, "", nil)
	if w.flat {
		return h
	}
	return jsonedit.Object{{Key: "hooks", Value: jsonedit.Array{h}}}
}

// judge returns the state of a handler of hookspan's and what is wrong with it. An
// empty binary is not compared.
func (w wantedHandler) judge(h handler, event, matcher string) (install.State, string) {
	a := w.agent
	ev, known := a.event(event)
	switch {
	case !known:
		return install.StateOutdated, "is an event that hookspan does not record"
	case w.binary != "" && h.program != w.binary:
		return install.StateOutdated, "starts " + h.program
	case w.form == formExec && h.form != formExec:
		return install.StateOutdated, "goes through a shell, which " + a.Agent.Name + " no longer needs"
	case w.guarded && h.form != formShell && a.ExecSince.known():
		return install.StateOutdated, fmt.Sprintf("has args: before %s %s runs its command alone, and env alone prints all variables", a.ExecSince, a.Agent.Name)
	case w.form == formShell && h.form != formShell && a.ExecSince.known():
		return install.StateOutdated, fmt.Sprintf("has args, which %s knows since %s", a.Agent.Name, a.ExecSince)
	case w.form == formShell && h.form != formShell:
		return install.StateOutdated, "has args in place of a command line"
	case !slices.Equal(h.args, a.hookArgs(event)):
		return install.StateOutdated, fmt.Sprintf("reports %q", strings.Join(h.args, " "))
	case w.guarded && !h.guarded:
		return install.StateOutdated, "would block " + a.Agent.Name + " under a malformed GOMEMLIMIT or GODEBUG"
	case h.redirected:
		return install.StateEdited, "has another redirection"
	case h.form == formShell && !h.succeeds && w.shell.ending() != nil:
		return install.StateOutdated, "would disturb " + a.Agent.Name + " if it could not start"
	case h.async:
		return install.StateOutdated, "has async true"
	case h.timeout == "":
		return install.StateOutdated, "has no timeout"
	case matcher != "" && matcher != "*":
		return install.StateEdited, fmt.Sprintf("has the matcher %q, so that only a part is recorded", matcher)
	case len(h.extras) > 0:
		return install.StateEdited, "has additional members: " + keys(h.extras)
	case h.timeout != strconv.Itoa(a.timeout(ev)):
		return install.StateEdited, "has another timeout"
	}
	return install.StateInstalled, ""
}

// rank orders the handlers of an event: the lowest is the one to keep.
func (w wantedHandler) rank(h placedHandler) int {
	state, _ := w.judge(h.handler, h.event, h.matcher)
	r := slices.Index([]install.State{install.StateInstalled, install.StateOutdated, install.StateEdited}, state)
	if h.matcher != "" {
		r += 3
	}
	return r
}

func keys(o jsonedit.Object) string {
	names := make([]string, len(o))
	for i, f := range o {
		names[i] = f.Key
	}
	return strings.Join(names, ", ")
}
