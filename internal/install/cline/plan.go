package cline

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/install"
)

// Plan plans the installation of Cline's hooks.
//
// It fails when the hook program cannot be run, when a hook folder is not a
// folder, and when a folder to be changed cannot be written to. A file that is
// not hookspan's is no failure; see install.Plan.Foreign.
func (in Installer) Plan(ctx context.Context, sys install.System, o install.Options) (*install.Plan, error) {
	if err := sys.CheckBinary(o, hook.ProgramCline); err != nil {
		return nil, err
	}
	folders, warnings, err := in.folders(ctx, sys, o.Project)
	if err != nil {
		return nil, err
	}
	p := &install.Plan{StateDir: sys.StateDir, Warnings: warnings}
	preShared := false
	for _, f := range folders {
		if err := throughLink(f); err != nil {
			return nil, err
		}
		p.Places = append(p.Places, f)
		if err := p.RemoveLeft(f.Path, f.Path); err != nil {
			return nil, err
		}
		changed := false
		for _, ev := range hookEvents() {
			a, err := planHook(sys.GOOS, f, ev.name, wanted(f, ev, o.PreToolUse, preShared), o)
			if err != nil {
				return nil, err
			}
			if a == nil {
				continue
			}
			p.Actions = append(p.Actions, *a)
			changed = changed || a.Op.Writes()
			if ev.name == preToolUse && f.Kind != RoleEditors && o.PreToolUse && hookInPlace(*a) {
				preShared = true
			}
		}
		if changed {
			if err := install.Writable(f.Path); err != nil {
				return nil, fmt.Errorf("hook folder %q: %w", f.Path, err)
			}
		}
	}
	record(p, folders, o.ForHooks)
	return p, warn(p, sys, o)
}

// hookInPlace reports that a hookspan hook file is in place after the step.
func hookInPlace(a install.Action) bool {
	return a.Op == install.OpCreate || a.Op == install.OpUpdate || a.Op == install.OpKeep || a.Op == install.OpChain
}

// removesHook reports that the step removes a hookspan hook file.
func removesHook(a install.Action) bool { return a.Op == install.OpRemove || a.Op == install.OpRestore }

// record sets what an installation changes in the install record: the folders that
// hold hooks, and whether PreToolUse is in them for the user's hooks alone.
func record(p *install.Plan, folders []install.Place, forHooks bool) {
	used := slices.DeleteFunc(slices.Clone(folders), func(f install.Place) bool {
		return !slices.ContainsFunc(p.Actions, func(a install.Action) bool { return a.Place == f.Path && hookInPlace(a) })
	})
	if len(used) > 0 {
		p.Before = func(m *install.Manifest) {
			for _, f := range used {
				m.Folders.Add(install.Record{
					Path: f.Path, Role: f.Kind, Workspace: f.Project, Created: install.MissingDirs(f.Path),
				})
			}
			for _, a := range p.Actions {
				created := a.Op == install.OpCreate || a.Op == install.OpChain
				if a.Event == preToolUse && (created || hookInPlace(a) && !forHooks) {
					markForHooks(m, a.Place, forHooks)
				}
			}
		}
	}
	for _, a := range p.Actions {
		if a.Event == preToolUse && removesHook(a) {
			p.AddAfter(func(m *install.Manifest) { markForHooks(m, a.Place, false) })
		}
	}
}

// markForHooks records whether a folder has PreToolUse for the user's hooks alone.
func markForHooks(m *install.Manifest, folder string, forHooks bool) {
	if r := m.Folders.Find(folder); r != nil {
		r.ForHooks = forHooks
	}
}

// classicRisk is the risk of a PreToolUse hook on Cline's classic core, to be
// put into a sentence.
const classicRisk = "a task of the CLI 2 can stop dead when a later tool reads a missing file (not seen in VS Code), and in VS Code a call that is denied leaves Cline stuck until the window is reloaded"

// wanted decides whether a folder gets an event's hook. preShared says that a
// folder sdk reads too has PreToolUse already.
func wanted(f install.Place, ev hookEvent, everywhere, preShared bool) bool {
	switch {
	case f.Kind == RoleSDK:
		return ev.name == preToolUse && !preShared
	case ev.name == preToolUse:
		return everywhere
	default:
		return f.Kind != RoleEditors || !ev.sdkOnly
	}
}

// planHook plans one file, or returns nil where there is nothing to do or say.
func planHook(goos string, f install.Place, event string, want bool, o install.Options) (*install.Action, error) {
	a, err := readPlace(goos, f, event)
	if err != nil {
		return nil, err
	}
	have, isShim := readShim(goos, a.Was)
	if !want {
		if !isShim {
			return nil, nil
		}
		removeShim(a, have, o.Force)
		if a.Op.Writes() {
			a.Reason = "the event is recorded through another folder"
			if event == preToolUse && f.Kind != RoleSDK {
				a.Reason = "PreToolUse goes into this folder only with --pre-tool-use"
			}
		}
		return a, nil
	}
	if !a.Was.Missing() && !a.Was.Runnable() {
		// One odd file is no reason to do without the other hooks.
		a.Op, a.Reason = install.OpForeign, describe(a.Was)+": move it away and install again"
		return a, nil
	}
	s := shim{Event: event, Binary: o.Binary, Chain: chainTarget(goos, a.Side)}
	if s.Chain != "" {
		a.Chained = a.Side.Path
	}
	switch {
	case a.Was.Missing():
		a.Op, a.Content = install.OpCreate, render(goos, s)
		if a.Chained != "" {
			a.Reason = "runs the script kept in " + a.Side.Path + " too"
		}
	case isShim:
		refresh(a, goos, have, s, o.Force)
	default:
		return a, planForeign(a, goos, s, o.Chain)
	}
	return a, nil
}

// readPlace reads what is in the place of a hook file and of its chained script.
func readPlace(goos string, f install.Place, event string) (*install.Action, error) {
	path := filepath.Join(f.Path, hookFileName(goos, event))
	cur, err := look(f, path)
	if err != nil {
		return nil, fmt.Errorf("hook %w", err)
	}
	side, err := install.Look(sidecar(path))
	if err != nil {
		return nil, fmt.Errorf("hook %w", err)
	}
	a := &install.Action{
		Place: f.Path, Path: path, Event: event, Was: cur, Side: side, Mode: 0o644, FolderMode: 0o755, Check: func() error { return throughLink(f) },
	}
	if goos != "windows" {
		a.Mode = 0o755 // classic and next run only executable files
	}
	return a, nil
}

// look reads a hook file, behind a link of the user's too, but not behind a project's.
func look(f install.Place, path string) (install.File, error) {
	if f.Project != "" {
		return install.Look(path)
	}
	return install.Follow(path)
}

// linkReason says what is wrong with a hook file that is a link.
const linkReason = "is a symbolic link, which the Cline SDK ignores"

// refresh plans for a wanted hookspan hook file.
func refresh(a *install.Action, goos string, have, want shim, force bool) {
	a.Content = render(goos, want)
	switch {
	case have.Edited && !force:
		a.Op, a.Content, a.Reason = install.OpEdited, nil, install.EditedReason(have.Version, shimVersion)
	case have.Edited:
		a.Op, a.Reason = install.OpUpdate, "was edited; --force rewrites it"
	case a.Was.Link != "":
		a.Op, a.Reason = install.OpUpdate, linkReason
	case have.Binary != want.Binary:
		a.Op, a.Reason = install.OpUpdate, "starts "+have.Binary
	case have.Chain != want.Chain && want.Chain == "":
		a.Op, a.Reason = install.OpUpdate, "the chained script "+have.Chain+" is gone"
	case have != shim{Version: have.Version, Event: want.Event, Binary: want.Binary, Chain: want.Chain}:
		a.Op, a.Reason = install.OpUpdate, "is out of date"
	case goos != "windows" && !a.Was.Executable():
		a.Op, a.Reason = install.OpUpdate, "is not executable, as Cline's Hooks tab leaves a hook that is switched off there"
	default:
		a.Op, a.Content = install.OpKeep, nil
	}
}

// planForeign plans for a file that is not hookspan's.
func planForeign(a *install.Action, goos string, want shim, chain bool) error {
	a.Op = install.OpForeign
	path := a.Path
	switch {
	case !a.Side.Missing() && !a.Side.Same(a.Was):
		a.Reason = fmt.Sprintf("is not hookspan's and stays as it is; %q holds an earlier script, so it cannot be chained: move one of the two away", a.Side.Path)
		return nil
	case !chain:
		a.Reason = "is not hookspan's and stays as it is; this event is not recorded here (--chain runs both)"
		return nil
	}
	exact, err := hasName(filepath.Dir(path), filepath.Base(path))
	if err != nil {
		return err
	}
	if !exact {
		a.Reason = fmt.Sprintf("is spelled differently on disk and cannot be chained: rename it to %s", filepath.Base(path))
		return nil
	}
	a.Op, a.Chained = install.OpChain, sidecar(path)
	want.Chain = chainTarget(goos, a.Was.At(a.Chained))
	a.Content = render(goos, want)
	a.Reason = "your script moves to " + a.Chained + " and runs with hookspan, both replies merged"
	if a.Was.Link == "" && goos != "windows" && !a.Was.Executable() {
		a.Reason += "; it is not executable, so Cline in editors did not run it so far"
	}
	return nil
}

// hasName reports a file of exactly this name. A file system without case finds
// others by it too.
func hasName(dir, name string) (bool, error) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return false, fmt.Errorf("hook folder %q: %w", dir, err)
	}
	return slices.ContainsFunc(list, func(d os.DirEntry) bool { return d.Name() == name }), nil
}

func describe(f install.File) string {
	if f.Info.IsDir() {
		return "is a folder"
	}
	return "is a special file (" + f.Info.Mode().Type().String() + ")"
}

// warn adds the warnings of an installation.
func warn(p *install.Plan, sys install.System, o install.Options) error {
	if path, off := hooksOff(sys); off {
		p.Warnings = append(p.Warnings, fmt.Sprintf("hooks are switched off in Cline's settings (%q): switch on Hooks in Cline, or nothing is recorded", path))
	}
	if slices.ContainsFunc(p.Actions, func(a install.Action) bool { return a.Op == install.OpCreate || a.Op == install.OpChain }) {
		p.Warnings = append(p.Warnings, "editor windows that are open may not see new hooks until they are reloaded (Developer: Reload Window)")
	}
	if slices.ContainsFunc(p.Actions, func(a install.Action) bool { return a.Op == install.OpChain && a.Was.Link == "" }) {
		p.Warnings = append(p.Warnings, "a chained script runs from "+sidecarDir+": one that finds its own files by $0 must use another way")
	}
	m, err := install.ReadManifest(sys.StateDir)
	if err != nil {
		return err
	}
	for _, f := range m.Folders {
		if slices.ContainsFunc(p.Places, func(pl install.Place) bool { return pl.Path == f.Path }) {
			continue
		}
		switch {
		case o.Project != "" && f.Workspace == "":
			p.Warnings = append(p.Warnings, fmt.Sprintf("hooks are installed for all projects already (%q); in this one each event is stored twice and counted once", f.Path))
		case o.Project == "" && f.Workspace == "":
			p.Warnings = append(p.Warnings, fmt.Sprintf("an earlier install went into %q, where Cline does not look now; uninstall removes it", f.Path))
		}
	}
	if o.Project != "" {
		p.Warnings = append(p.Warnings, "the hook files name a program on this machine: do not commit them")
	}
	return nil
}
