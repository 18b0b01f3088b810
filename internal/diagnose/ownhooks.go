package diagnose

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/internal/clinehooks"
	installcline "github.com/hookspan/hookspan/internal/install/cline"
	"github.com/hookspan/hookspan/internal/termtext"
)

// shownHookProblems is how many problems of the user's hooks are shown.
const shownHookProblems = 5

// examineOwnHooks checks the user's hooks for Cline, if there are any.
func (m *Machine) examineOwnHooks(st *Status) []Finding {
	if len(m.Own.Sources) == 0 {
		return nil
	}
	var out []Finding
	if !m.Config.Hooks {
		out = append(out, Finding{Note, "hooks of your own are switched off by HOOKSPAN_HOOKS", "hookspan config says where it is set"})
	}
	for _, s := range m.Own.Sources {
		out = append(out, m.examineHooksFile(s)...)
	}
	if i := slices.IndexFunc(st.agents, func(h agentHooks) bool { return h.Host == cline.Host }); i >= 0 && len(m.Own.Sources.Handlers()) > 0 {
		out = append(out, m.examineGuard(installcline.ReachOf(st.agents[i].Report, m.Dir))...)
	}
	return append(out, m.hookProblems()...)
}

// examineGuard looks for hooks that do not run because Cline has no hook file for
// them.
func (m *Machine) examineGuard(in installcline.Reach) []Finding {
	const command = "hookspan install cline"
	guard := m.Own.Sources.Guard()
	switch {
	case !in.Any && guard:
		return []Finding{{Problem, "none of your hooks runs: Cline has no hook file of hookspan's", command + " --pre-tool-use; its --help says what that costs in editors and the CLI 2"}}
	case !in.Any:
		return []Finding{{Problem, "none of your hooks runs: Cline has no hook file of hookspan's", command}}
	case !guard || in.Editors:
		return nil
	}
	text := "hooks of yours run before tool calls (PreToolUse), but not in Cline in editors and the CLI 2: "
	if in.Foreign {
		return []Finding{{Problem, text + "a PreToolUse hook file there is not hookspan's", command + " --pre-tool-use --chain runs it and your hooks"}}
	}
	return []Finding{{
		Problem, text + "these have no PreToolUse hook file of hookspan's that is switched on",
		command + " --pre-tool-use; its --help says what that costs there",
	}}
}

// examineHooksFile reports what in one hooks.json does not work.
func (m *Machine) examineHooksFile(s clinehooks.Source) []Finding {
	switch {
	case s.Err != nil:
		return []Finding{{Problem, s.Err.Error(), "no hook in it runs: fix it; hookspan hooks list shows whether it can be read"}}
	case !s.Trusted:
		return []Finding{{
			Note, s.Path + ": its hooks do not run: you have not trusted this content",
			"read what it runs, then hookspan hooks trust",
		}}
	}
	var out []Finding
	if s.File.Disabled {
		out = append(out, Finding{Note, s.Path + ": disableAllHooks is set, so its hooks do not run", ""})
	}
	for _, p := range m.Own.CheckSource(s, m.Own.Sources) {
		level := Note // a hook that is not for Cline may be there on purpose
		if p.Mistake {
			level = Problem
		}
		out = append(out, Finding{level, p.String(), ""})
	}
	if len(out) == 0 {
		out = append(out, Finding{OK, termtext.Plural(len(s.File.Handlers), "hook") + " of your own in " + s.Path, ""})
	}
	return out
}

// hookProblems returns the latest problems of the user's hooks.
func (m *Machine) hookProblems() []Finding {
	recent := slices.DeleteFunc(slices.Clone(m.Own.Problems), func(n clinehooks.Noted) bool { return m.Now().Sub(n.Last) > logDay })
	var out []Finding
	for _, n := range recent[max(0, len(recent)-shownHookProblems):] {
		text := "hooks: " + m.Own.Clean(n.Text) + " (" + n.Last.Local().Format(time.DateTime)
		if n.Count > 1 {
			text += ", " + strconv.Itoa(n.Count) + " times"
		}
		out = append(out, Finding{Note, text + ")", ""})
	}
	return out
}

// isHookStep reports a line of the log about the user's hooks that is not shown:
// a step, which HOOKSPAN_HOOKS_DEBUG asks for, or a problem, which hookProblems
// has.
func isHookStep(line string) bool {
	_, text, found := strings.Cut(line, " hookspan: hooks: ")
	return found && !strings.Contains(text, "is not in the trace") && !strings.Contains(text, "no TRACEPARENT")
}
