package cline

import (
	"context"
	"slices"

	"github.com/hookspan/hookspan/internal/install"
)

// ForHooks lists the projects in whose folders PreToolUse is installed for the
// user's hooks alone, see install.Options.ForHooks; an empty name is the user's own
// folders.
func ForHooks(sys install.System) ([]string, error) {
	m, err := install.ReadManifest(sys.StateDir)
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
// that the user has asked for or edited, in any folder of o.Project, leaves a
// plan that changes nothing.
func (in Installer) PlanWithoutHooks(ctx context.Context, sys install.System, o install.Options) (*install.Plan, error) {
	m, err := install.ReadManifest(sys.StateDir)
	if err != nil {
		return nil, err
	}
	o.PreToolUse, o.ForHooks, o.Chain, o.Force = false, false, false, false
	p, err := in.Plan(ctx, sys, o)
	if err != nil {
		return nil, err
	}
	p.Warnings = nil
	p.Actions = slices.DeleteFunc(p.Actions, func(a install.Action) bool { return a.Event != preToolUse })
	forHooks := func(a install.Action) bool {
		r := m.Folders.Find(a.Place)
		return r != nil && r.ForHooks
	}
	stays := func(a install.Action) bool {
		return a.Op == install.OpForeign || a.Op == install.OpEdited || removesHook(a) && !forHooks(a)
	}
	if slices.ContainsFunc(p.Actions, stays) {
		p.Actions = slices.Concat(p.Foreign(), p.Edited())
	}
	return p, nil
}
