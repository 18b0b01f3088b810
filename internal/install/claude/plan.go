package claude

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/regular"
)

// Plan plans the installation of Claude Code's hooks.
//
// It fails when the hook program cannot be run, when the settings are not JSON or
// their hooks do not have the form that Claude Code reads, and when they cannot
// be written to. Edited hooks are no failure; see install.Plan.Edited.
func (in Installer) Plan(ctx context.Context, sys install.System, o install.Options) (*install.Plan, error) {
	if err := sys.CheckBinary(o, hookProgram); err != nil {
		return nil, err
	}
	of := in.product()
	path, err := of.selected(sys, o)
	if err != nil {
		return nil, err
	}
	m, err := install.ReadManifest(sys.StateDir)
	if err != nil {
		return nil, err
	}
	p := &install.Plan{StateDir: sys.StateDir}
	w := of.wanted(sys.GOOS, o.Binary)
	w.force = o.Force
	if of.exec {
		v, known, warning := in.version(ctx)
		if warning != "" {
			p.Warnings = append(p.Warnings, warning)
		}
		w = newWanted(sys.GOOS, o.Binary, v, known, o.Force)
	}
	f, err := of.planFile(path, m, func(e *settingsEdit) ([]change, error) { return e.install(w) })
	if err != nil {
		return nil, err
	}
	f.record.CreatedFile = f.Missing()
	// A file that an earlier install created needs no backup.
	earlier := m.Settings.Find(path.Path)
	if f.changed() && !f.Missing() && (earlier == nil || !earlier.CreatedFile) && !install.FileExists(f.backup()) {
		p.Actions = append(p.Actions, install.Action{
			Op: install.OpCreate, Place: path.Path, Path: f.backup(), Reason: "the settings as they are now",
			Content: f.Data, Mode: 0o600, FolderMode: 0o700, Check: f.check,
		})
	}
	if err := f.addTo(p); err != nil {
		return nil, err
	}
	p.Before = func(m *install.Manifest) {
		f.record.Created = install.MissingDirs(filepath.Dir(f.Path))
		m.Settings.Add(f.record)
	}
	return p, in.warn(p, sys, m, path, w)
}

// warn adds the warnings of an installation.
func (in Installer) warn(p *install.Plan, sys install.System, m *install.Manifest, path install.Place, w wantedHandler) error {
	p.Warnings = append(p.Warnings, in.hooksOff(sys, path.Project)...)
	var unknown []string
	for _, ev := range w.product().events {
		if !w.has(ev) {
			unknown = append(unknown, ev.name)
		}
	}
	if len(unknown) > 0 {
		p.Warnings = append(p.Warnings, fmt.Sprintf("Claude Code %d.%d.%d does not have %s: install again after an upgrade",
			w.version[0], w.version[1], w.version[2], strings.Join(unknown, ", ")))
	}
	others, err := w.product().allSettings(sys, m, path.Project)
	if err != nil {
		return err
	}
	for _, other := range others {
		if other.Path == path.Path || other.Project != "" && path.Project != "" && other.Project != path.Project {
			continue
		}
		if w.product().hasHooks(other.Path) {
			p.Warnings = append(p.Warnings, fmt.Sprintf("hookspan's hooks are in %q too: %s runs equal ones once; where the two differ, each event is stored twice and counted once", other.Path, w.product().name))
		}
	}
	if p.Changed() && w.product().trust != nil {
		p.Warnings = append(p.Warnings, w.product().name+" runs these hooks only when you trust them: "+trustHint)
	}
	if path.Kind == install.ScopeProject {
		warning := "the hooks name a program on this machine: do not commit them"
		if slices.Contains(w.product().scopes, install.ScopeLocal) {
			warning += " (--scope local is for that)"
		}
		p.Warnings = append(p.Warnings, warning)
	}
	return nil
}

// hasHooks reports that a settings file holds hookspan's hooks. An unreadable
// file holds none that run.
func (p *product) hasHooks(path string) bool {
	f, err := readSettings(path)
	if err != nil || f.Missing() {
		return false
	}
	e, err := p.open(f.Data, nil)
	return err == nil && len(e.find()) > 0
}

// PlanUninstall plans to take hookspan's hooks out of the settings: those recorded
// in the state folder and those found where Claude Code looks now. Edited entries
// go too.
func (in Installer) PlanUninstall(_ context.Context, sys install.System, o install.Options) (*install.Plan, error) {
	m, err := install.ReadManifest(sys.StateDir)
	if err != nil {
		return nil, err
	}
	of := in.product()
	paths, err := of.uninstallPaths(sys, m, o)
	if err != nil {
		return nil, err
	}
	p := &install.Plan{StateDir: sys.StateDir, Undo: true}
	var undone install.Records
	for _, path := range paths {
		recorded := m.Settings.Find(path.Path) != nil
		f, err := of.planFile(path, m, func(e *settingsEdit) ([]change, error) { return e.uninstall() })
		switch {
		case errors.Is(err, install.ErrThroughLink) && o.Scope == "" && o.Project == "":
			// The other files are undone all the same.
			if mentionsHook(path.Path) {
				p.Warnings = append(p.Warnings, err.Error())
			}
			continue
		case err != nil && !recorded && !mentionsHook(path.Path):
			continue // not hookspan's to fix
		case err != nil:
			return nil, err
		}
		if len(f.changes) == 0 && !recorded {
			continue
		}
		if err := f.addTo(p); err != nil {
			return nil, err
		}
		if err := f.removeBackup(p); err != nil {
			return nil, err
		}
		undone = append(undone, f.record)
	}
	for _, r := range undone {
		for _, dir := range slices.Backward(r.Created) {
			p.RemoveIfEmpty(dir)
		}
	}
	if len(undone) > 0 {
		p.After = func(m *install.Manifest) {
			for _, r := range undone {
				m.Settings.Drop(r.Path)
			}
		}
	}
	p.RemoveState(m)
	return p, nil
}

func (p *product) uninstallPaths(sys install.System, m *install.Manifest, o install.Options) ([]install.Place, error) {
	if o.Scope != "" {
		f, err := p.selected(sys, o)
		return []install.Place{f}, err
	}
	all, err := p.allSettings(sys, m, cmp.Or(o.Project, o.Dir))
	if o.Project != "" {
		all = slices.DeleteFunc(all, func(f install.Place) bool { return f.Project != filepath.Clean(o.Project) })
	}
	return all, err
}

// mentionsHook reports that a file that cannot be read as settings may hold hooks
// of hookspan's.
func mentionsHook(path string) bool {
	f, err := readSettings(path)
	return err == nil && bytes.Contains(f.Data, []byte(hookProgram))
}

// plannedFile is a settings file and what a plan does to it.
type plannedFile struct {
	install.File
	place   install.Place
	changes []change
	// after is the new text, nil where the file is removed or stays missing.
	after  []byte
	record install.Record
}

// planFile reads a settings file and changes its text by edit.
func (p *product) planFile(path install.Place, m *install.Manifest, edit func(*settingsEdit) ([]change, error)) (*plannedFile, error) {
	found, err := read(path)
	if err != nil {
		return nil, err
	}
	text := found.Data
	if found.Missing() {
		text = []byte("{}\n")
	}
	rec := install.Record{Agent: p.word, Path: path.Path, Scope: path.Kind, Project: path.Project}
	if have := m.Settings.Find(path.Path); have != nil {
		rec.Created, rec.CreatedFile, rec.Empty = have.Created, have.CreatedFile, have.Empty
	}
	e, err := p.open(text, rec.Empty)
	if err != nil {
		return nil, fmt.Errorf("settings %q: %w: fix the file (%s cannot read it either); nothing was changed", path.Path, err, p.name)
	}
	changes, err := edit(e)
	if err != nil {
		return nil, fmt.Errorf("settings %q: %w: fix or remove it; nothing was changed", path.Path, err)
	}
	rec.Empty = e.empty
	f := &plannedFile{File: found, place: path, changes: changes, after: e.text, record: rec}
	if found.Missing() && len(changes) == 0 || rec.CreatedFile && len(e.root.Items) == 0 {
		f.after = nil
	}
	return f, nil
}

// changed reports that the file's content changes, or that it appears or goes.
func (f *plannedFile) changed() bool {
	return f.Missing() != (f.after == nil) || !bytes.Equal(f.Data, f.after)
}

// backup is the copy that the first install makes of a settings file.
func (f *plannedFile) backup() string { return f.place.Path + ".hookspan-backup" }

// check refuses a file that is neither as planned nor as the plan would leave it.
func (f *plannedFile) check() error {
	cur, err := read(f.place)
	if err != nil {
		return err
	}
	before := cur.Missing() == f.Missing() && bytes.Equal(cur.Data, f.Data)
	after := cur.Missing() == (f.after == nil) && bytes.Equal(cur.Data, f.after)
	if cur.Path != f.Path || !before && !after {
		return install.ErrChanged
	}
	return nil
}

// addTo adds the file and its changes to a plan.
func (f *plannedFile) addTo(p *install.Plan) error {
	place := f.place
	if f.Path != place.Path {
		place.Notes = append(place.Notes, "the file is "+f.Path)
	}
	place.Notes = append(place.Notes, summary(f.changes)...)
	for _, c := range f.changes {
		if c.op == install.OpEdited {
			p.Actions = append(p.Actions, install.Action{Op: c.op, Place: place.Path, Path: place.Path, Event: c.event, Reason: c.reason, Settings: true})
		}
	}
	if f.changed() {
		if err := install.Writable(filepath.Dir(f.Path)); err != nil {
			return fmt.Errorf("settings %q: %w", place.Path, err)
		}
		a := install.Action{
			Op: install.OpUpdate, Place: place.Path, Path: f.Path, Was: f.File, Content: f.after,
			Mode: 0o600, FolderMode: 0o755, Settings: true, Check: f.check,
		}
		switch place.Kind {
		case install.ScopeUser:
			a.FolderMode = 0o700
		case install.ScopeProject:
			a.Mode = 0o644
		}
		switch {
		case f.Missing():
			a.Op = install.OpCreate
		case f.after == nil:
			a.Op = install.OpRemove
			place.Notes = append(place.Notes, "remove   the file: created by hookspan, empty by then")
		default:
			a.Mode = f.Info.Mode().Perm()
		}
		p.Actions = append(p.Actions, a)
	}
	p.Places = append(p.Places, place)
	return nil
}

// removeBackup plans to remove a backup that equals the settings after the
// uninstall, and warns of another.
func (f *plannedFile) removeBackup(p *install.Plan) error {
	kept, err := regular.Read(f.backup(), regular.Options{Max: maxSettingsBytes, NoLink: true})
	switch {
	case errors.Is(err, fs.ErrNotExist) || install.IsNotDir(err):
		return nil
	case err != nil:
		return fmt.Errorf("backup of settings %q: %w", f.place.Path, err)
	case f.after == nil || !bytes.Equal(kept, f.after):
		p.Warnings = append(p.Warnings, fmt.Sprintf("the settings have changed since they were copied to %q: the copy stays, remove it when you do not need it", f.backup()))
		return nil
	}
	was, err := install.Look(f.backup())
	p.Actions = append(p.Actions, install.Action{
		Op: install.OpRemove, Place: f.place.Path, Path: f.backup(), Was: was, Reason: "the settings are as they were", Check: f.check,
	})
	return err
}

// summary has a line for all events with the same change for the same reason.
func summary(changes []change) (lines []string) {
	var s install.Site
	for _, c := range changes {
		s.Hooks = append(s.Hooks, install.Hook{Event: c.event, State: install.State(c.op), Reason: c.reason})
	}
	for _, g := range s.Groups() {
		lines = append(lines, fmt.Sprintf("%-8s %s", g.State, g.Text()))
	}
	return lines
}
