package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/clinehooks"
	"github.com/hookspan/hookspan/internal/install/cline"
	"github.com/hookspan/hookspan/internal/termtext"
)

// shownHookProblems is how many problems of late are shown.
const shownHookProblems = 5

// ownHooks is what status tells of one file with hooks of the user's own.
type ownHooks struct {
	Path    string `json:"path"`
	Hooks   int    `json:"hooks"`
	Trusted bool   `json:"trusted"`
	// Error says why the file cannot be read.
	Error string `json:"error,omitempty"`
}

// here is the working directory, empty where there is none any more.
func here() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return ""
	}
	return dir
}

func (a *app) ownHooks() []ownHooks {
	var out []ownHooks
	for _, s := range a.hookSetup().Sources(here()) {
		o := ownHooks{Path: s.Path, Trusted: s.Trusted}
		if s.Err != nil {
			o.Error = s.Err.Error()
		}
		if s.File != nil {
			o.Hooks = len(s.File.Handlers)
		}
		out = append(out, o)
	}
	return out
}

func (a *app) printOwnHooks(files []ownHooks) {
	if len(files) == 0 {
		return
	}
	parts := make([]string, len(files))
	for i, f := range files {
		parts[i] = fmt.Sprintf("%d in %s", f.Hooks, f.Path)
		switch {
		case f.Error != "":
			parts[i] = f.Path + " cannot be read"
		case !f.Trusted:
			parts[i] += " (not trusted)"
		}
	}
	a.printf("hooks of your own: %s", termtext.Value(strings.Join(parts, ", ")))
	if !a.cfg.Hooks {
		a.printf("; switched off by HOOKSPAN_HOOKS")
	}
	a.printf("\n\n")
}

// examineOwnHooks looks at the user's own hooks. Without a hooks.json there is
// nothing to say.
func (a *app) examineOwnHooks(st *status) []finding {
	dir := here()
	sources := a.hookSetup().Sources(dir)
	if len(sources) == 0 {
		return nil
	}
	var out []finding
	if !a.cfg.Hooks {
		out = append(out, finding{"note", "hooks of your own are switched off by HOOKSPAN_HOOKS", "hookspan config says where it is set"})
	}
	for _, s := range sources {
		out = append(out, a.examineHooksFile(s, sources)...)
	}
	guard := sources.Guard()
	reach := cline.ReachOf(st.report, dir)
	switch {
	case len(sources.Handlers()) == 0:
	case !reach.Any:
		hint := "hookspan install cline"
		if guard {
			hint += " --pre-tool-use; its --help says what that costs in editors and the CLI 2"
		}
		out = append(out, finding{"problem", "none of your hooks runs: Cline has no hook file of hookspan's", hint})
	case guard && !reach.Editors && reach.Foreign:
		out = append(out, finding{
			"problem", "hooks of yours run before tool calls (PreToolUse), but not in Cline in editors and the CLI 2: a PreToolUse hook file there is not hookspan's",
			"hookspan install cline --pre-tool-use --chain runs it and your hooks",
		})
	case guard && !reach.Editors:
		out = append(out, finding{
			"problem", "hooks of yours run before tool calls (PreToolUse), but not in Cline in editors and the CLI 2: these have no PreToolUse hook file of hookspan's that is switched on",
			"hookspan install cline --pre-tool-use; its --help says what that costs there",
		})
	}
	return append(out, a.recentHookProblems()...)
}

// examineHooksFile tells what in one hooks.json does not work.
func (a *app) examineHooksFile(s clinehooks.Source, all clinehooks.Sources) []finding {
	switch {
	case s.Err != nil:
		return []finding{{"problem", s.Err.Error(), "no hook in it runs: fix it; hookspan hooks list shows whether it can be read"}}
	case !s.Trusted:
		return []finding{{
			"note", s.Path + ": its hooks do not run: you have not trusted this content",
			"read what it runs, then hookspan hooks trust",
		}}
	}
	var out []finding
	if s.File.Disabled {
		out = append(out, finding{"note", s.Path + ": disableAllHooks is set, so its hooks do not run", ""})
	}
	// A hook that is not for Cline may be there on purpose; a mistake never is.
	for _, p := range a.hookSetup().CheckSource(s, all) {
		level := "note"
		if p.Mistake {
			level = "problem"
		}
		out = append(out, finding{level, p.String(), ""})
	}
	if len(out) == 0 {
		out = append(out, finding{"ok", termtext.Plural(len(s.File.Handlers), "hook") + " of your own in " + s.Path, ""})
	}
	return out
}

// isHookStep reports a line of the log that tells what the user's hooks did: a
// step, which HOOKSPAN_HOOKS_DEBUG asks for, or a problem, of which
// recentHookProblems tells.
func isHookStep(line string) bool {
	_, text, found := strings.Cut(line, " hookspan: hooks: ")
	return found && !strings.Contains(text, "is not in the trace") && !strings.Contains(text, "no TRACEPARENT")
}

// recentHookProblems are what went wrong with the user's hooks of late.
func (a *app) recentHookProblems() []finding {
	list := a.hookProblems().List()
	var out []finding
	list = slices.DeleteFunc(list, func(n clinehooks.Noted) bool { return a.now().Sub(n.Last) > logDay })
	for _, n := range list[max(0, len(list)-shownHookProblems):] {
		text := "hooks: " + a.clean(n.Text) + " (" + n.Last.Local().Format(time.DateTime)
		if n.Count > 1 {
			text += ", " + strconv.Itoa(n.Count) + " times"
		}
		out = append(out, finding{"note", text + ")", ""})
	}
	return out
}
