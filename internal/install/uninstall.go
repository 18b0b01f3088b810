package install

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// UninstallOptions say what to undo.
type UninstallOptions struct {
	// Workspace limits the work to that project's folders, an absolute path.
	// If empty, everything installed anywhere is removed.
	Workspace string
	// Force removes hook files of ours that were edited since.
	Force bool
}

// PlanUninstall plans to undo every installation: those recorded in the state
// folder and those found where Cline looks now. It writes nothing.
//
// A hook file that was edited since it was written is left and shown as
// OpForeign, unless forced. Files that were never ours are not mentioned.
func PlanUninstall(ctx context.Context, sys System, o UninstallOptions) (*Plan, error) {
	m, err := readManifest(sys.StateDir)
	if err != nil {
		return nil, err
	}
	p := &Plan{goos: sys.GOOS, stateDir: sys.StateDir, workspace: o.Workspace, uninstall: true}
	p.Folders, p.Warnings, err = sys.installedFolders(ctx, m, o.Workspace)
	if err != nil {
		return nil, err
	}
	gone := map[string]bool{}
	for _, f := range p.Folders {
		if err := inProject(f.workspace, f.Path); err != nil {
			if o.Workspace != "" {
				return nil, err
			}
			// The other folders are undone all the same.
			p.Warnings = append(p.Warnings, err.Error())
			continue
		}
		if err := p.planFolderRemoval(f, m, gone, o.Force); err != nil {
			return nil, err
		}
	}
	if len(p.forget) == len(m.Folders) && len(m.Settings) == 0 {
		// The last one out takes the folders that only held the record.
		gone[filepath.Join(sys.StateDir, manifestName)] = true
		first := len(p.Actions)
		for _, dir := range slices.Backward(m.StateCreated) {
			p.removeIfEmpty(dir, gone)
		}
		for i := range p.Actions[first:] {
			p.Actions[first+i].late = true
		}
	}
	return p, nil
}

// installedFolders joins the folders Cline reads now with the recorded ones.
func (s System) installedFolders(ctx context.Context, m manifest, workspace string) ([]Folder, []string, error) {
	var list []Folder
	for _, f := range m.Folders {
		if workspace == "" || f.Workspace == workspace {
			list = append(list, Folder{Path: f.Path, Role: f.Role, workspace: f.Workspace})
		}
	}
	now, warnings, err := s.folders(ctx, workspace)
	if err != nil && len(list) == 0 {
		return nil, nil, err
	}
	if err != nil {
		warnings = append(warnings, err.Error())
	}
	for _, f := range now {
		i := slices.IndexFunc(list, func(have Folder) bool { return have.Path == f.Path })
		if i < 0 {
			list = append(list, f)
			continue
		}
		list[i].Role = f.Role // who reads it may have changed since
	}
	return list, warnings, nil
}

// planFolderRemoval plans for one folder. gone collects what the plan removes.
func (p *Plan) planFolderRemoval(f Folder, m manifest, gone map[string]bool, force bool) error {
	left, held := false, false
	for _, ev := range hookEvents() {
		a, err := planRemoval(p.goos, filepath.Join(f.Path, hookFileName(p.goos, ev.name)), ev.name, force)
		if err != nil {
			return err
		}
		if a == nil {
			continue
		}
		p.Actions = append(p.Actions, *a)
		switch a.Op {
		case OpRemove:
			gone[a.Path] = true
		case OpRestore:
			gone[a.side.path] = true
			held = held || a.was.missing()
		default:
			left = true
		}
	}
	p.removeIfEmpty(filepath.Join(f.Path, sidecarDir), gone)
	for _, rec := range m.Folders {
		if rec.Path != f.Path || left {
			continue
		}
		for _, dir := range slices.Backward(rec.Created) {
			if !held {
				p.removeIfEmpty(dir, gone)
			}
		}
		p.forget = append(p.forget, rec.Path)
	}
	return nil
}

// planRemoval plans for one hook, or returns nil where nothing of ours is.
func planRemoval(goos, path, event string, force bool) (*Action, error) {
	cur, err := look(path)
	if err != nil {
		return nil, err
	}
	side, err := look(sidecar(path))
	if err != nil {
		return nil, err
	}
	a := &Action{Path: path, Event: event, folder: filepath.Dir(path), was: cur, side: side}
	have, ours := cur.shim(goos)
	switch {
	case ours:
		a.plainRemoval(have, force)
	case side.missing():
		return nil, nil
	case cur.missing():
		a.Op, a.Chained, a.Reason = OpRestore, side.path, "your script returns from "+side.path
	case side.same(cur):
		a.Op, a.Path, a.was, a.side = OpRemove, side.path, side, entry{}
		a.Reason = "a second link to your script, left by an install that was cut short"
	default:
		a.Op, a.Chained = OpForeign, side.path
		a.Reason = fmt.Sprintf("is not hookspan's and stays as it is; your earlier script stays in %q: move one of the two away", side.path)
	}
	return a, nil
}

// plainRemoval plans the end of a hook file of ours.
func (a *Action) plainRemoval(have shim, force bool) {
	switch {
	case have.Edited && !force:
		a.Op, a.Reason = OpEdited, editedReason(have)
	case a.side.file():
		a.Op, a.Chained, a.Reason = OpRestore, a.side.path, "your script returns from "+a.side.path
	default:
		a.Op = OpRemove
	}
}

// removeIfEmpty plans to remove dir if nothing is left in it by then.
func (p *Plan) removeIfEmpty(dir string, gone map[string]bool) {
	list, err := os.ReadDir(dir)
	if err != nil || gone[dir] {
		return
	}
	for _, d := range list {
		if !gone[filepath.Join(dir, d.Name())] {
			return
		}
	}
	gone[dir] = true
	p.Actions = append(p.Actions, Action{Op: OpRemoveFolder, Path: dir, Reason: "created by hookspan, empty by then"})
}
