package cline

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/hookspan/hookspan/internal/install"
)

// PlanUninstall plans to undo the installations: those recorded in the state
// folder and those found where Cline looks now. o.Project limits it to that
// project's folders.
//
// A hook file that was edited since it was written is left and shown as
// install.OpEdited, unless o.Force is set. Files that were never hookspan's are
// not mentioned.
func (in Installer) PlanUninstall(ctx context.Context, sys install.System, o install.Options) (*install.Plan, error) {
	m, err := install.ReadManifest(sys.StateDir)
	if err != nil {
		return nil, err
	}
	folders, warnings, err := in.installedFolders(ctx, sys, m, o.Project)
	if err != nil {
		return nil, err
	}
	p := &install.Plan{StateDir: sys.StateDir, Undo: true, Warnings: warnings}
	for _, f := range folders {
		p.Places = append(p.Places, f)
		if err := throughLink(f); err != nil {
			if o.Project != "" {
				return nil, err
			}
			// The other folders are undone all the same.
			p.Stays = append(p.Stays, err.Error())
			continue
		}
		if err := planFolderRemoval(p, sys.GOOS, f, m, o.Force); err != nil {
			if o.Project != "" {
				return nil, err
			}
			p.Stays = append(p.Stays, err.Error())
		}
	}
	p.RemoveState(m)
	return p, nil
}

// planFolderRemoval plans for one folder.
func planFolderRemoval(p *install.Plan, goos string, f install.Place, m *install.Manifest, force bool) error {
	left := false
	if err := p.RemoveLeft(f.Path, f.Path); err != nil {
		return err
	}
	for _, ev := range hookEvents() {
		a, err := planRemoval(goos, f, ev.name, force)
		if err != nil {
			return err
		}
		if a == nil {
			continue
		}
		p.Actions = append(p.Actions, *a)
		if have, ok := readShim(goos, a.Was); ok && f.Project == "" && a.Op.Writes() {
			p.Started = append(p.Started, have.Binary)
		}
		left = left || !a.Op.Writes()
		if removesHook(*a) && ev.name == preToolUse {
			p.AddAfter(func(m *install.Manifest) { markForHooks(m, f.Path, false) })
		}
	}
	p.RemoveIfEmpty(filepath.Join(f.Path, sidecarDir))
	if rec := m.Folders.Find(f.Path); rec != nil && !left {
		for _, dir := range slices.Backward(rec.Created) {
			p.RemoveIfEmpty(dir)
		}
		p.AddAfter(func(m *install.Manifest) { m.Folders.Drop(f.Path) })
	}
	return nil
}

// planRemoval plans for one hook, or returns nil where nothing is hookspan's.
func planRemoval(goos string, f install.Place, event string, force bool) (*install.Action, error) {
	a, err := readPlace(goos, f, event)
	if err != nil {
		return nil, err
	}
	have, isShim := readShim(goos, a.Was)
	switch {
	case isShim:
		removeShim(a, have, force)
	case a.Side.Missing():
		return nil, nil
	case a.Was.Missing():
		a.Op, a.Chained, a.Reason = install.OpRestore, a.Side.Path, "your script returns from "+a.Side.Path
	case a.Side.Same(a.Was):
		a.Op, a.Path, a.Was, a.Side = install.OpRemove, a.Side.Path, a.Side, install.File{}
		a.Reason = "a second link to your script, left by an interrupted install"
	default:
		a.Op, a.Chained = install.OpForeign, a.Side.Path
		a.Reason = fmt.Sprintf("is not hookspan's and stays as it is; your earlier script stays in %q: move one of the two away", a.Side.Path)
	}
	return a, nil
}

// removeShim plans the removal of a hookspan hook file, and the return of a
// chained script.
func removeShim(a *install.Action, have shim, force bool) {
	switch {
	case have.Edited && !force:
		a.Op, a.Reason = install.OpEdited, install.EditedReason(have.Version, shimVersion)
	case a.Side.Runnable():
		a.Op, a.Chained, a.Reason = install.OpRestore, a.Side.Path, "your script returns from "+a.Side.Path
	default:
		a.Op = install.OpRemove
		if a.Was.Link != "" {
			a.Reason = "a link to " + a.Was.Link + ", which stays"
		}
	}
}
