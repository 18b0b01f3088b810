package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// State is how a hook stands in a folder.
type State string

// The states of a hook.
const (
	// StateOurs is a hook file of hookspan's that works.
	StateOurs State = "installed"
	// StateStale is a hook file of hookspan's that another install would fix.
	StateStale State = "outdated"
	// StateOff is a hook file of hookspan's that was switched off in Cline's
	// Hooks tab, which removes the executable bit. The SDK runs it all the same.
	StateOff State = "switched off"
	// StateEdited is a hook file of hookspan's that was changed since, or one of
	// a newer hookspan.
	StateEdited State = "edited"
	// StateForeign is something that is not hookspan's.
	StateForeign State = "not hookspan's"
	// StateMissing is no file at all.
	StateMissing State = "missing"
)

// Installed is one hook in one folder.
type Installed struct {
	// Folder is the hook folder, Path the hook file in it.
	Folder Folder
	Path   string
	// Workspace is the project the folder belongs to, empty for the user's.
	Workspace string
	// Event is the hook's name.
	Event string
	// State is how it stands, and Reason what is wrong with it.
	State  State
	Reason string
	// Wanted reports that a default install puts the hook here, or that one is
	// here already.
	Wanted bool
	// Binary is the program a hook file of ours starts.
	Binary string
	// Chained is the script a hook file of ours has run as well.
	Chained string
}

// StatusReport is how Cline's hooks stand.
type StatusReport struct {
	// Folders are those Cline reads and those installed into earlier.
	Folders []Folder
	// Hooks are the hooks of every folder, in the order of Folders.
	Hooks []Installed
	// Warnings are what else is wrong, each a sentence without a final stop.
	Warnings []string
	// HooksOff reports that Cline's settings switch hooks off.
	HooksOff bool
}

// Count returns how many hooks are in a state, leaving out the missing ones that
// a default install would not put there.
func (r *StatusReport) Count(s State) int {
	n := 0
	for _, h := range r.Hooks {
		if h.State == s && (h.Wanted || s != StateMissing) {
			n++
		}
	}
	return n
}

// Present reports that hooks of hookspan's are in the folders of a project, or
// with an empty one in the user's.
func (r *StatusReport) Present(workspace string) bool {
	return slices.ContainsFunc(r.Hooks, func(h Installed) bool {
		return h.Workspace == workspace && h.State != StateMissing && h.State != StateForeign
	})
}

// Anywhere reports that hooks of hookspan's are in any folder.
func (r *StatusReport) Anywhere() bool {
	return slices.ContainsFunc(r.Hooks, func(h Installed) bool { return r.Present(h.Workspace) })
}

// Healthy reports that hooks are installed for the user or for a project, that
// every hook which that puts somewhere is there and works, and that Cline runs
// hooks.
func (r *StatusReport) Healthy() bool {
	for _, h := range r.Hooks {
		if h.Wanted && h.State != StateOurs && r.Present(h.Workspace) {
			return false
		}
	}
	return r.Anywhere() && !r.HooksOff
}

// Text shows the report: a line for each folder with hooks, one for each hook in
// it that is or should be there, then the warnings.
func (r *StatusReport) Text() string {
	var b strings.Builder
	for _, f := range r.Folders {
		heading := fmt.Sprintf("%s (%s)\n", line(f.Path), f.Readers())
		for _, h := range r.Hooks {
			if h.Folder != f || h.State == StateMissing && !h.Wanted {
				continue
			}
			b.WriteString(heading)
			heading = ""
			fmt.Fprintf(&b, "  %-14s %s%s\n", h.State, filepath.Base(h.Path), line(withReason(h.Reason)))
		}
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", line(w))
	}
	return b.String()
}

// Status looks at the hooks of every folder. o.Binary, if set, is the program
// they should start; o.Workspace selects a project's folders as in PlanCline.
// Status writes nothing and fails only when it cannot tell where to look.
func Status(ctx context.Context, sys System, o Options) (*StatusReport, error) {
	m, err := readManifest(sys.StateDir)
	if err != nil {
		return nil, err
	}
	r := &StatusReport{}
	if r.Folders, r.Warnings, err = sys.installedFolders(ctx, m, o.Workspace); err != nil {
		return nil, err
	}
	preShared := false
	for _, f := range r.Folders {
		workspace := o.Workspace
		if i := slices.IndexFunc(m.Folders, func(rec manifestFolder) bool { return rec.Path == f.Path }); i >= 0 {
			workspace = m.Folders[i].Workspace
		}
		for _, ev := range hookEvents() {
			h := inspect(sys.GOOS, f, ev.name, o.Binary)
			h.Workspace = workspace
			h.Wanted = wanted(f, ev, false, preShared) || h.State == StateOurs || h.State == StateStale || h.State == StateOff
			if ev.name == preToolUse && f.Role != RoleSDK && h.Wanted {
				preShared = preShared || f.Role != RoleEditors
				if f.Role.editors() {
					r.Warnings = append(r.Warnings, fmt.Sprintf("with the PreToolUse hook in %q, "+classicPrice+"; install cline --pre-tool-use=false moves it to the SDK's folder, and hooks of your own before tool calls then run there only", f.Path))
				}
			}
			r.Hooks = append(r.Hooks, h)
		}
	}
	if path, off := sys.hooksOff(); off {
		r.HooksOff = true
		r.Warnings = append(r.Warnings, fmt.Sprintf("hooks are switched off in Cline's settings (%q)", path))
	}
	return r, nil
}

// inspect judges one hook.
func inspect(goos string, f Folder, event, binary string) Installed {
	path := filepath.Join(f.Path, hookFileName(goos, event))
	h := Installed{Folder: f, Path: path, Event: event, State: StateForeign}
	cur, err := look(path)
	if err != nil {
		h.Reason = err.Error()
		return h
	}
	if cur.missing() {
		h.State = StateMissing
		return h
	}
	s, ours := cur.shim(goos)
	if !ours {
		if !cur.file() {
			h.Reason = describe(cur)
		} else if cur.link != "" {
			h.Reason = "is a symbolic link to " + cur.link
		}
		return h
	}
	h.Binary, h.Chained = s.Binary, s.Chain
	h.State, h.Reason = judge(goos, f, s, cur, event, binary)
	if h.State == StateOurs && s.Chain != "" {
		h.Reason = "also runs " + s.Chain
	}
	return h
}

// judge decides how a hook file of hookspan's stands.
func judge(goos string, f Folder, s shim, cur entry, event, binary string) (State, string) {
	switch {
	case s.Edited:
		return StateEdited, editedReason(s)
	case s.Event != event:
		return StateStale, "reports the event " + s.Event
	case goos != "windows" && !cur.executable() && (f.Role == RoleShared || f.Role == RoleSDKDocuments):
		return StateOff, "in Cline's Hooks tab, which makes it not executable: switch it on there, or install again"
	case goos != "windows" && !cur.executable():
		return StateStale, "is not executable"
	case binary != "" && s.Binary != binary:
		return StateStale, "starts " + s.Binary
	case !fileExists(s.Binary):
		return StateStale, "the program " + s.Binary + " is gone"
	case s.Chain != "" && !fileExists(s.Chain):
		return StateStale, "the chained script " + s.Chain + " is gone"
	}
	return StateOurs, ""
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
