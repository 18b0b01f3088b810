package hooks

import (
	"slices"
	"strings"

	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/install/cline"
	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
	"github.com/hookspan/hookspan/internal/userhooks/sample"
)

// asks says whether the agent asks this hook at all, and what keeps it from doing so.
func (c *Catalog) asks(f *File, h *Hook, e hookfile.Entry, report *install.Report) {
	switch {
	case f.Off != "":
		h.Never = f.Off
		if f.NeedsTrust && !f.Trusted {
			h.Hint = "read what it runs, then trust the file"
		}
	case !e.Runs:
		h.Never = "it cannot run as it is written"
		if p, ok := h.take(func(p hookfile.Problem) bool { return p.Dropped }); ok {
			h.Never = p.Text
		}
	case f.Agent == agentCline && report != nil:
		h.Never, h.Partly, h.Hint = clineAsks(report, e.Event, f.Project)
	}
	if h.Never == "" {
		p, ok := h.take(func(p hookfile.Problem) bool {
			return strings.Contains(p.Text, "never runs") && !strings.Contains(p.Text, "never runs for")
		})
		if ok {
			h.Never, h.Hint = p.Text, ""
		}
	}
}

// take removes the first of the hook's problems that is as asked for, and returns it.
func (h *Hook) take(is func(hookfile.Problem) bool) (p hookfile.Problem, ok bool) {
	i := slices.IndexFunc(h.Problems, is)
	if i < 0 {
		return p, false
	}
	p = h.Problems[i]
	h.Problems = slices.DeleteFunc(slices.Clone(h.Problems), func(q hookfile.Problem) bool { return q == p })
	return p, true
}

// clineAsks says why Cline does not start a hook for an event of Claude Code's: the
// hook file that reports it is missing or not hookspan's.
func clineAsks(r *install.Report, event, project string) (never, partly, hint string) {
	if len(r.Off) > 0 {
		return r.Off[0], "", "switch hooks on in Cline's settings"
	}
	var names []string
	classic := false
	for _, e := range sample.Events() {
		if e.Claude == event {
			names = append(names, e.HookFile())
			classic = classic || e.Hook != ""
		}
	}
	var any, editors, foreign bool
	for _, s := range r.Sites {
		if s.Project != "" && s.Project != project {
			continue
		}
		sdk := s.Kind == cline.RoleSDK || s.Kind == cline.RoleSDKDocuments
		for _, h := range s.Hooks {
			if !slices.Contains(names, h.Event) {
				continue
			}
			switch h.State {
			case install.StateInstalled, install.StateOutdated:
				any, editors = true, editors || !sdk
			case install.StateOff:
				any = true
			case install.StateForeign:
				foreign = true
			}
		}
	}
	hint = "hookspan install cline"
	if event == "PreToolUse" {
		hint += " --pre-tool-use"
	}
	file := strings.Join(slices.Compact(names), " or ")
	switch {
	case !any && foreign:
		return "Cline does not ask hookspan: its hook file " + file + " is not hookspan's", "", hint + " --chain"
	case !any:
		return "Cline does not ask hookspan: it has no hook file " + file + " from hookspan", "", hint
	case !editors && classic:
		return "", "only in the Cline CLI 3: Cline in editors and the CLI 2 have no hook file " + file + " from hookspan", hint
	}
	return "", "", ""
}

// clineNotes add what is known of Cline's hook files.
func (c *Catalog) clineNotes(l *Listing, r *install.Report) {
	if r == nil {
		return
	}
	for _, text := range r.Off {
		l.Notes = append(l.Notes, Note{agentCline, text, "switch hooks on there"})
	}
	for _, s := range r.Sites {
		f := Folder{Path: s.Path, Readers: s.Readers, Project: s.Project, Hooks: []install.Hook{}}
		for _, h := range s.Hooks {
			if h.State != install.StateMissing || h.Faulty && s.Present {
				f.Hooks = append(f.Hooks, h)
			}
		}
		if len(f.Hooks) > 0 {
			l.Folders = append(l.Folders, f)
		}
	}
}
