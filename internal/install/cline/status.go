package cline

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/internal/install"
)

// Hook is one hook in one folder.
type Hook struct {
	// Folder is the hook folder, Path the hook file in it.
	Folder Folder
	Path   string
	// Event is the hook's name.
	Event string
	// State is how it stands, and Reason what is wrong with it.
	State  install.State
	Reason string
	// Wanted reports that a default install puts the hook here, or that one is
	// here already.
	Wanted bool
	// Binary is the program a hook file of ours starts.
	Binary string
	// Chained is the script a hook file of ours has run as well.
	Chained string
}

// Report is how Cline's hooks stand.
type Report struct {
	// Folders are those Cline reads and those installed into earlier.
	Folders []Folder
	// Hooks are the hooks of every folder, in the order of Folders.
	Hooks []Hook
	// Warnings are what else is wrong, each a sentence without a final stop.
	Warnings []string
	// HooksOff reports that Cline's settings switch hooks off.
	HooksOff bool
}

// Count returns how many hooks are in a state, leaving out the missing ones that
// a default install would not put there.
func (r *Report) Count(s install.State) int {
	n := 0
	for _, h := range r.Hooks {
		if h.State == s && (h.Wanted || s != install.StateMissing) {
			n++
		}
	}
	return n
}

// InProject reports that hooks of hookspan's are in the folders of a project, or
// with an empty one in the user's.
func (r *Report) InProject(project string) bool {
	return slices.ContainsFunc(r.Hooks, func(h Hook) bool {
		return h.Folder.Project == project && h.State != install.StateMissing && h.State != install.StateForeign
	})
}

// Present reports that hooks of hookspan's are in any folder.
func (r *Report) Present() bool {
	return slices.ContainsFunc(r.Hooks, func(h Hook) bool { return r.InProject(h.Folder.Project) })
}

// Healthy reports that hooks are installed for the user or for a project, that
// every hook which that puts somewhere is there and works, and that Cline runs
// hooks.
func (r *Report) Healthy() bool {
	for _, h := range r.Hooks {
		if h.Wanted && h.State != install.StateInstalled && r.InProject(h.Folder.Project) {
			return false
		}
	}
	return r.Present() && !r.HooksOff
}

// Text shows the report: a line for each folder with hooks, one for each hook in
// it that is or should be there, then the warnings.
func (r *Report) Text() string {
	var b strings.Builder
	for _, f := range r.Folders {
		heading := fmt.Sprintf("%s (%s)\n", install.Line(f.Path), f.Readers())
		for _, h := range r.Hooks {
			if h.Folder != f || h.State == install.StateMissing && !h.Wanted {
				continue
			}
			b.WriteString(heading)
			heading = ""
			fmt.Fprintf(&b, "  %-14s %s%s\n", h.State, filepath.Base(h.Path), install.Line(install.WithReason(h.Reason)))
		}
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", install.Line(w))
	}
	return b.String()
}

// Status looks at the hooks of every folder. o.Binary, if set, is the program
// they should start; o.Project selects a project's folders as in PlanCline.
// Status writes nothing and fails only when it cannot tell where to look.
func (in Installer) Status(ctx context.Context, sys install.System, o install.Options) (*Report, error) {
	m, err := install.ReadManifest(sys.StateDir)
	if err != nil {
		return nil, err
	}
	r := &Report{}
	if r.Folders, r.Warnings, err = in.installedFolders(ctx, sys, m, o.Project); err != nil {
		return nil, err
	}
	preShared := false
	for _, f := range r.Folders {
		for _, ev := range hookEvents() {
			h := inspect(sys.GOOS, f, ev.name, o.Binary)
			h.Wanted = wanted(f, ev, false, preShared) || h.State == install.StateInstalled || h.State == install.StateOutdated || h.State == install.StateOff
			if ev.name == preToolUse && f.Role != RoleSDK && h.Wanted {
				preShared = preShared || f.Role != RoleEditors
				if f.Role.Editors() {
					r.Warnings = append(r.Warnings, fmt.Sprintf("with the PreToolUse hook in %q, "+classicPrice+"; install cline --pre-tool-use=false moves it to the SDK's folder, and hooks of your own before tool calls then run there only", f.Path))
				}
			}
			r.Hooks = append(r.Hooks, h)
		}
	}
	if path, off := hooksOff(sys); off {
		r.HooksOff = true
		r.Warnings = append(r.Warnings, fmt.Sprintf("hooks are switched off in Cline's settings (%q)", path))
	}
	return r, nil
}

// inspect judges one hook.
func inspect(goos string, f Folder, event, binary string) Hook {
	path := filepath.Join(f.Path, hookFileName(goos, event))
	h := Hook{Folder: f, Path: path, Event: event, State: install.StateForeign}
	cur, err := install.Look(path)
	if err != nil {
		h.Reason = err.Error()
		return h
	}
	if cur.Missing() {
		h.State = install.StateMissing
		return h
	}
	s, ours := readShim(goos, cur)
	if !ours {
		if !cur.Runnable() {
			h.Reason = describe(cur)
		} else if cur.Link != "" {
			h.Reason = "is a symbolic link to " + cur.Link
		}
		return h
	}
	h.Binary, h.Chained = s.Binary, s.Chain
	h.State, h.Reason = judge(goos, f, s, cur, event, binary)
	if h.State == install.StateInstalled && s.Chain != "" {
		h.Reason = "also runs " + s.Chain
	}
	return h
}

// judge decides how a hook file of hookspan's stands.
func judge(goos string, f Folder, s shim, cur install.File, event, binary string) (install.State, string) {
	switch {
	case s.Edited:
		return install.StateEdited, editedReason(s)
	case s.Event != event:
		return install.StateOutdated, "reports the event " + s.Event
	case goos != "windows" && !cur.Executable() && (f.Role == RoleShared || f.Role == RoleSDKDocuments):
		return install.StateOff, "in Cline's Hooks tab, which makes it not executable: switch it on there, or install again"
	case goos != "windows" && !cur.Executable():
		return install.StateOutdated, "is not executable"
	case binary != "" && s.Binary != binary:
		return install.StateOutdated, "starts " + s.Binary
	case !install.FileExists(s.Binary):
		return install.StateOutdated, "the program " + s.Binary + " is gone"
	case s.Chain != "" && !install.FileExists(s.Chain):
		return install.StateOutdated, "the chained script " + s.Chain + " is gone"
	}
	return install.StateInstalled, ""
}
