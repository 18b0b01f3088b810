package install

import (
	"context"
	"slices"
)

// ForHooks lists the projects in whose folders PreToolUse is installed for the
// user's hooks alone, as Options.ForHooks has it; an empty name is the user's own
// folders.
func ForHooks(sys System) ([]string, error) {
	m, err := readManifest(sys.StateDir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, f := range m.Folders {
		if f.ForHooks && !slices.Contains(out, f.Workspace) {
			out = append(out, f.Workspace)
		}
	}
	return out, nil
}

// PlanWithoutHooks plans for PreToolUse what a default install would have it,
// once no hook of the user's needs it: it goes from the folders that the classic
// dialect reads to that of the SDK. Other hook files are left alone. A PreToolUse
// that the user has asked for or edited, in any folder of o.Workspace, leaves a
// plan that changes nothing.
func PlanWithoutHooks(ctx context.Context, sys System, o Options) (*Plan, error) {
	m, err := readManifest(sys.StateDir)
	if err != nil {
		return nil, err
	}
	o.PreToolUse, o.ForHooks, o.Chain, o.Force = false, false, false, false
	p, err := PlanCline(ctx, sys, o)
	if err != nil {
		return nil, err
	}
	p.Warnings = nil
	p.Actions = slices.DeleteFunc(p.Actions, func(a Action) bool { return a.Event != preToolUse })
	forHooks := func(a Action) bool {
		return slices.ContainsFunc(m.Folders, func(f manifestFolder) bool { return f.Path == a.folder && f.ForHooks })
	}
	stays := func(a Action) bool {
		return a.Op == OpForeign || a.Op == OpEdited || (a.Op == OpRemove || a.Op == OpRestore) && !forHooks(a)
	}
	if slices.ContainsFunc(p.Actions, stays) {
		p.Actions = slices.Concat(p.Foreign(), p.Edited())
	}
	return p, nil
}
