package diagnose

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	installcline "github.com/hookspan/hookspan/internal/install/cline"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/userhooks"
)

// shownHookProblems is how many problems of the user's hooks are shown.
const shownHookProblems = 5

// ownHooks checks the user's hooks for Cline, if there are any.
func (e *exam) ownHooks() {
	if len(e.Own.Sources) == 0 {
		return
	}
	if !e.Setup.Config.Hooks {
		e.add(Note, "your hooks are switched off by HOOKSPAN_HOOKS", "hookspan config says where it is set")
	}
	for _, s := range e.Own.Sources {
		e.hooksFile(s)
	}
	if i := slices.IndexFunc(e.st.agents, func(h agentHooks) bool { return h.Agent.Host == hook.HostCline }); i >= 0 && len(e.Own.Sources.Handlers()) > 0 {
		for _, line := range e.st.OwnHooksRun {
			e.add(Note, "your hooks: "+line, "")
		}
		e.guard(installcline.HostsOf(e.st.agents[i].Report, e.Dir))
	}
	recent := slices.DeleteFunc(slices.Clone(e.Own.Problems), func(n userhooks.Noted) bool { return e.Setup.Now().Sub(n.Last) > logDay })
	for _, n := range recent[max(0, len(recent)-shownHookProblems):] {
		text := "hooks: " + e.Own.Clean(n.Text) + " (" + n.Last.Local().Format(time.DateTime)
		if n.Count > 1 {
			text += ", " + strconv.Itoa(n.Count) + " times"
		}
		e.add(Note, text+")", "")
	}
}

// guard looks for hooks that do not run because Cline has no hook file for them.
func (e *exam) guard(in installcline.Hosts) {
	const command = "hookspan install cline"
	const none = "none of your hooks runs: Cline has no hookspan hook file"
	const partly = "your hooks run before tool calls (PreToolUse), but not in Cline in editors and the CLI 2: "
	switch guard := e.Own.Sources.Guard(); {
	case !in.Any() && guard:
		e.add(Problem, none, command+" --pre-tool-use; its --help says what that costs in editors and the CLI 2")
	case !in.Any():
		e.add(Problem, none, command)
	case !guard || in.Guard():
	case in.Foreign:
		e.add(Problem, partly+"a PreToolUse hook file there is not hookspan's", command+" --pre-tool-use --chain runs it and your hooks")
	default:
		e.add(Problem, partly+"these have no PreToolUse hook file from hookspan that is switched on",
			command+" --pre-tool-use; its --help says what that costs there")
	}
}

// hooksFile reports what in one hooks.json does not work.
func (e *exam) hooksFile(s userhooks.Source) {
	switch {
	case s.Err != nil:
		e.add(Problem, s.Err.Error(), "no hook in it runs: fix it; hookspan hooks list shows whether it can be read")
		return
	case !s.Trusted:
		e.add(Note, s.Path+": its hooks do not run: you have not trusted this content", "read what it runs, then hookspan hooks trust")
		return
	}
	before := len(e.found)
	if s.File.Disabled {
		e.add(Note, s.Path+": disableAllHooks is set, so its hooks do not run", "")
	}
	for _, p := range e.Own.CheckSource(s, e.Own.Sources) {
		level := Note // a hook that is not for Cline may be there on purpose
		if p.Mistake {
			level = Problem
		}
		e.add(level, p.String(), "")
	}
	if len(e.found) == before {
		e.add(OK, termtext.Plural(len(s.File.Handlers), "hook")+" of your own in "+s.Path, "")
	}
}

// isHookStep reports a line of the log about the user's hooks that is not shown:
// a step, which HOOKSPAN_HOOKS_DEBUG asks for, or a problem, which ownHooks
// shows.
func isHookStep(line string) bool {
	_, text, found := strings.Cut(line, " hookspan: hooks: ")
	return found && !strings.Contains(text, "is not in the trace") && !strings.Contains(text, "no TRACEPARENT")
}
