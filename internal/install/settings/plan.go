package settings

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

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/files/regular"
	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/jsonedit"
)

// Installer implements install.Installer for an agent.
type Installer struct{ Spec *Spec }

// Plan implements install.Installer.
//
// It fails when the hook program cannot be run, when the settings are not JSON or
// their hooks do not have the form that the agent reads, and when they cannot be
// written to. Edited hooks are no failure; see install.Plan.Edited.
func (in Installer) Plan(ctx context.Context, sys install.System, o install.Options) (*install.Plan, error) {
	a := in.Spec
	if err := sys.CheckBinary(o, hook.ProgramClaude); err != nil {
		return nil, err
	}
	if o.Scope == install.ScopeManaged && a.ManagedHooks != "" {
		return a.planManaged(sys, o, false)
	}
	place, err := a.selectedPlace(sys, o)
	if err != nil {
		return nil, err
	}
	if managed := a.managed(sys); len(managed) > 0 {
		return &install.Plan{Warnings: []string{fmt.Sprintf("hookspan's hooks are in %q, which your organisation manages: none are added", managed[0].Path)}}, nil
	}
	m, err := install.ReadManifest(sys.StateDir)
	if err != nil {
		return nil, err
	}
	p := &install.Plan{StateDir: sys.StateDir}
	v, warning := a.version(ctx)
	if warning != "" {
		p.Warnings = append(p.Warnings, warning)
	}
	w := a.wanted(sys.GOOS, o.Binary, v)
	w.force = o.Force
	f, err := a.planFile(sys, o, place, m, &w)
	if err != nil {
		return nil, err
	}
	f.record.Programs = append(f.record.Programs, o.Binary)
	f.record.CreatedFile = f.Missing()
	if err := f.keepBackup(p); err != nil {
		return nil, err
	}
	if err := errors.Join(f.addTo(p), f.removeLeft(p)); err != nil {
		return nil, err
	}
	p.Before = func(m *install.Manifest) {
		f.record.Created = install.MissingDirs(filepath.Dir(f.Path))
		m.Settings.Add(f.record)
	}
	return p, a.warn(p, sys, m, place, v)
}

// warn adds the warnings of an installation.
func (a *Spec) warn(p *install.Plan, sys install.System, m *install.Manifest, place install.Place, v Version) error {
	p.Warnings = append(p.Warnings, a.offReasons(sys, place.Project, false)...)
	var unknown []string
	for _, ev := range a.Events {
		if !v.has(ev.Since) {
			unknown = append(unknown, ev.Name)
		}
	}
	if len(unknown) > 0 {
		p.Warnings = append(p.Warnings, fmt.Sprintf("%s %s does not have %s: install again after an upgrade", a.Agent.Name, v, strings.Join(unknown, ", ")))
	}
	others, err := a.allPlaces(sys, m, place.Project)
	if err != nil {
		return err
	}
	for _, other := range others {
		if other.Path == place.Path || other.Project != "" && place.Project != "" && other.Project != place.Project {
			continue
		}
		if a.hasHooks(sys, m, other.Path) {
			p.Warnings = append(p.Warnings, fmt.Sprintf("hookspan's hooks are in %q too: %s runs equal ones once; where the two differ, each event is stored twice and counted once", other.Path, a.Agent.Name))
		}
	}
	if p.Changed() && a.TrustHint != "" {
		p.Warnings = append(p.Warnings, a.Agent.Name+" runs these hooks only when you trust them: "+a.TrustHint)
		p.Next = a.TrustHint
	}
	if place.Kind == install.ScopeProject {
		warning := "the hooks name a program on this machine: do not commit them"
		if slices.Contains(a.Agent.Scopes, install.ScopeLocal) {
			warning += " (--scope local is for that)"
		}
		p.Warnings = append(p.Warnings, warning)
	}
	return nil
}

// hasHooks reports that a settings file holds hookspan's hooks. An unreadable
// file holds none that run.
func (a *Spec) hasHooks(sys install.System, m *install.Manifest, path string) bool {
	f, err := readSettings(path)
	if err != nil || f.Missing() {
		return false
	}
	e, err := a.open(a.asJSON(path, f.Data), nil, a.ours(sys, install.Options{}, m, path))
	return err == nil && len(e.find()) > 0
}

// PlanUninstall implements install.Installer. It finds the settings of the install
// record and those that the agent reads now. Edited entries go too.
func (in Installer) PlanUninstall(_ context.Context, sys install.System, o install.Options) (*install.Plan, error) {
	a := in.Spec
	if o.Scope == install.ScopeManaged && a.ManagedHooks != "" {
		return a.planManaged(sys, o, true)
	}
	m, err := install.ReadManifest(sys.StateDir)
	if err != nil {
		return nil, err
	}
	places, err := a.uninstallPlaces(sys, m, o)
	if err != nil {
		return nil, err
	}
	p := &install.Plan{StateDir: sys.StateDir, Undo: true}
	if managed := a.managed(sys); o.Scope == "" && len(managed) > 0 {
		p.Warnings = append(p.Warnings, fmt.Sprintf("hookspan's hooks in %q, which your organisation manages, stay: hookspan uninstall --managed removes them, as root", managed[0].Path))
	}
	var undone install.Records
	for _, place := range places {
		recorded := m.Settings.Find(place.Path) != nil
		f, err := a.planFile(sys, o, place, m, nil)
		switch {
		case errors.Is(err, install.ErrThroughLink) && o.Scope == "" && o.Project == "":
			// The other files are undone all the same.
			if mentionsHook(place.Path) {
				p.Stays = append(p.Stays, err.Error())
			}
			continue
		case err != nil && !recorded && !mentionsHook(place.Path):
			continue // not hookspan's to fix
		case err != nil && o.Scope == "" && o.Project == "":
			p.Stays = append(p.Stays, err.Error())
			continue
		case err != nil:
			return nil, err
		}
		p.Stays, p.Started = append(p.Stays, f.left...), append(p.Started, f.started...)
		if err := f.removeLeft(p); err != nil {
			return nil, err
		}
		if len(f.changes) == 0 && !recorded {
			p.Warnings = append(p.Warnings, f.warnings...)
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
		p.AddAfter(func(m *install.Manifest) { m.Settings.Drop(r.Path) })
	}
	p.RemoveState(m)
	return p, nil
}

// uninstallPlaces lists the settings files that the options select.
func (a *Spec) uninstallPlaces(sys install.System, m *install.Manifest, o install.Options) ([]install.Place, error) {
	if o.Scope != "" {
		place, err := a.selectedPlace(sys, o)
		return []install.Place{place}, err
	}
	all, err := a.allPlaces(sys, m, cmp.Or(o.Project, o.Dir))
	if o.Project != "" {
		all = slices.DeleteFunc(all, func(place install.Place) bool { return place.Project != filepath.Clean(o.Project) })
	}
	return all, err
}

// mentionsHook reports that a file that cannot be read as settings may hold hooks
// of hookspan's.
func mentionsHook(path string) bool {
	f, err := readSettings(path)
	return err == nil && bytes.Contains(f.Data, []byte(hook.ProgramClaude))
}

// plannedFile is a settings file and what a plan does to it.
type plannedFile struct {
	install.File
	place   install.Place
	changes []change
	// after is the new text, nil where the file is removed or stays missing.
	after  []byte
	record install.Record
	// warnings name hooks that only look like hookspan's, left those that start a program
	// of hookspan's and something else.
	warnings, left []string
	// started are the programs that hookspan's hooks started before.
	started []string
}

// ours reports whether the program of a hook in a settings file is hookspan's.
func (a *Spec) ours(sys install.System, o install.Options, m *install.Manifest, path string) func(string) bool {
	rec := m.Settings.Find(path)
	return func(program string) bool { return sys.IsProgram(program, o, rec) }
}

// planFile reads a settings file and changes its text: hooks as wanted go in, or without w out.
func (a *Spec) planFile(sys install.System, o install.Options, place install.Place, m *install.Manifest, w *wantedHandler) (*plannedFile, error) {
	found, err := read(place)
	if err != nil {
		return nil, err
	}
	text := a.asJSON(place.Path, found.Data)
	if found.Missing() {
		text = []byte("{}\n")
	}
	rec := install.Record{Agent: a.Agent.Argument(), Path: place.Path, Scope: place.Kind, Project: place.Project}
	if have := m.Settings.Find(place.Path); have != nil {
		rec.Created, rec.CreatedFile, rec.Empty = have.Created, have.CreatedFile, have.Empty
	}
	ours := a.ours(sys, o, m, place.Path)
	e, err := a.open(text, rec.Empty, ours)
	if err != nil {
		return nil, fmt.Errorf("settings %q: %w: fix the file (%s cannot read it either); nothing was changed", place.Path, err, a.Agent.Name)
	}
	var started []string
	for _, h := range e.find() {
		started = append(started, h.program)
	}
	var changes []change
	var after []byte
	switch {
	case isTOML(place.Path):
		after, changes, err = a.editTOML(found, *cmp.Or(w, &wantedHandler{}), w == nil, ours)
	case w != nil:
		changes, err = e.install(*w)
	default:
		changes, err = e.uninstall()
	}
	if err != nil {
		return nil, fmt.Errorf("settings %q: %w: fix or remove it; nothing was changed", place.Path, err)
	}
	empty := len(bytes.TrimSpace(after)) == 0
	if !isTOML(place.Path) {
		after, empty = e.text, len(e.root.Items) == 0 && len(jsonedit.Comments(e.text)) == 0
	}
	rec.Empty = e.empty
	if place.Project != "" {
		started = nil // its author may name any
	}
	f := &plannedFile{File: found, place: place, changes: changes, after: after, record: rec, started: started}
	for _, command := range e.foreign() {
		f.warnings = append(f.warnings, fmt.Sprintf("the hook %q in %q has the name of hookspan's program and was not installed by hookspan: it stays as it is", command, place.Path))
	}
	for _, command := range e.mixed() {
		f.left = append(f.left, fmt.Sprintf("the hook %q in %q starts hookspan's program with more than an install writes: it stays, take it out by hand", command, place.Path))
	}
	linked := found.Path != place.Path // the user's file elsewhere, which stays
	if found.Missing() && len(changes) == 0 || !linked && rec.CreatedFile && empty {
		f.after = nil
	}
	return f, nil
}

// changed reports that the file's content changes, or that it appears or goes.
func (f *plannedFile) changed() bool {
	return f.Missing() != (f.after == nil) || !bytes.Equal(f.Data, f.after)
}

// backup is the copy that an install makes of settings without hookspan's hooks.
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
	p.Warnings = append(p.Warnings, f.warnings...)
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
		case install.ScopeProject, install.ScopeManaged:
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

// keepBackup plans a copy of settings without hookspan's hooks that are to get them, in
// place of an earlier copy.
func (f *plannedFile) keepBackup(p *install.Plan) error {
	had := slices.ContainsFunc(f.changes, func(c change) bool { return c.op != install.OpCreate })
	if had || !f.changed() || f.Missing() {
		return nil
	}
	was, err := install.Look(f.backup())
	a := install.Action{
		Op: install.OpUpdate, Place: f.place.Path, Path: f.backup(), Reason: "the settings as they are now",
		Was: was, Content: f.Data, Mode: 0o600, FolderMode: 0o700, Check: f.check,
	}
	if was.Missing() {
		a.Op = install.OpCreate
	}
	if err == nil && (was.Missing() || !bytes.Equal(was.Data, f.Data)) {
		p.Actions = append(p.Actions, a)
	}
	return err
}

// removeLeft plans to remove copies beside the file and beside a link to it.
func (f *plannedFile) removeLeft(p *install.Plan) error {
	return p.RemoveLeft(f.place.Path, filepath.Dir(f.place.Path), filepath.Dir(f.Path))
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
