package install

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/hookspan/hookspan/internal/jsonedit"
	"github.com/hookspan/hookspan/internal/regular"
)

// backupSuffix ends the name of the copy that the first install makes of a
// settings file.
const backupSuffix = ".hookspan-backup"

// SettingsEdit is what a plan does to one settings file of Claude Code.
type SettingsEdit struct {
	// Scope says for whom the file counts.
	Scope Scope
	// Path is the file as Claude Code names it.
	Path string
	// Changes are the events, in the order of the file.
	Changes []Change
	// Before and After are the file's bytes. Before is nil where there is no
	// file, After where it is removed.
	Before, After []byte
	// Backup is the copy of Before that is made, or removed, on the way. It is
	// empty where neither happens.
	Backup string

	file   claudeFile
	target string
	mode   fs.FileMode
	record manifestSettings
}

// Changed reports that the file would change.
func (e *SettingsEdit) Changed() bool {
	return !bytes.Equal(e.Before, e.After) || (e.Before == nil) != (e.After == nil)
}

// ClaudePlan is what would be done to Claude Code's settings.
type ClaudePlan struct {
	Settings []SettingsEdit
	// Warnings are what the user should know, each a sentence without a final
	// stop.
	Warnings []string

	stateDir  string
	uninstall bool
}

// Changed reports that applying the plan would change a settings file.
func (p *ClaudePlan) Changed() bool {
	return slices.ContainsFunc(p.Settings, func(e SettingsEdit) bool { return e.Changed() })
}

// Edited lists the changes that leave an entry of ours alone because it was
// edited.
func (p *ClaudePlan) Edited() []Change {
	var out []Change
	for _, e := range p.Settings {
		for _, c := range e.Changes {
			if c.Op == OpEdited {
				out = append(out, c)
			}
		}
	}
	return out
}

// Text shows the plan: a line for each file and for each kind of change in it,
// then the warnings.
func (p *ClaudePlan) Text() string {
	var b strings.Builder
	for _, e := range p.Settings {
		fmt.Fprintf(&b, "%s (%s)\n", e.Path, e.Scope.Readers())
		if e.target != e.Path {
			fmt.Fprintf(&b, "  the file is %s\n", e.target)
		}
		for _, l := range summary(e.Changes) {
			fmt.Fprintf(&b, "  %s\n", l)
		}
		switch {
		case e.Before != nil && e.After == nil:
			b.WriteString("  remove   the file: created by hookspan, empty by then\n")
		case e.Backup != "" && p.uninstall:
			fmt.Fprintf(&b, "  remove   %s: the settings are as they were\n", filepath.Base(e.Backup))
		case e.Backup != "":
			fmt.Fprintf(&b, "  create   %s: the settings as they are now\n", filepath.Base(e.Backup))
		}
	}
	if !p.Changed() {
		b.WriteString("nothing to change\n")
	}
	for _, w := range p.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	return b.String()
}

// summary joins the events with which the same happens for the same reason.
func summary(changes []Change) []string {
	var order []string
	events := map[string][]string{}
	line := map[string]Change{}
	for _, c := range changes {
		key := string(c.Op) + c.Reason
		if events[key] == nil {
			order = append(order, key)
		}
		events[key] = append(events[key], c.Event)
		line[key] = c
	}
	out := make([]string, len(order))
	for i, key := range order {
		what := strings.Join(events[key], ", ")
		if n := len(events[key]); n > 3 {
			what = fmt.Sprintf("%d events", n)
		}
		out[i] = fmt.Sprintf("%-8s %s%s", line[key].Op, what, withReason(line[key].Reason))
	}
	return out
}

// diffLine is the length of a line above which a file is laid out anew to show
// its differences.
const diffLine = 400

// Diff shows the changed regions of the files, in the unified form. Files that
// stand on long lines are laid out anew for it.
func (p *ClaudePlan) Diff() string {
	var b strings.Builder
	for _, e := range p.Settings {
		before, after := e.Before, e.After
		if long(before) || long(after) {
			before, after = pretty(before), pretty(after)
		}
		d := diff.Diff(e.Path, before, e.Path, after)
		// The first line repeats the names.
		if at := bytes.IndexByte(d, '\n'); at >= 0 {
			b.Write(d[at+1:])
		}
	}
	return b.String()
}

func long(text []byte) bool {
	for line := range bytes.Lines(text) {
		if len(line) > diffLine {
			return true
		}
	}
	return false
}

func pretty(text []byte) []byte {
	var b bytes.Buffer
	if json.Indent(&b, bytes.TrimPrefix(text, []byte(jsonedit.ByteOrderMark)), "", "  ") != nil {
		return text
	}
	return b.Bytes()
}

// PlanClaude plans the installation of Claude Code's hooks. It writes nothing.
//
// It fails when the hook program cannot be run, when the settings are no JSON or
// their hooks are not of the shape that Claude Code reads, and when they cannot
// be written to. Entries of ours that somebody has edited are no failure; see
// ClaudePlan.Edited.
func PlanClaude(ctx context.Context, sys System, o ClaudeOptions) (*ClaudePlan, error) {
	if err := sys.checkBinary(o.Binary, claudeHook); err != nil {
		return nil, err
	}
	file, err := sys.claudeFile(o.Scope, o.Project)
	if err != nil {
		return nil, err
	}
	m, err := readManifest(sys.StateDir)
	if err != nil {
		return nil, err
	}
	p := &ClaudePlan{stateDir: sys.StateDir}
	v, known, warning := sys.claudeVersion(ctx)
	if warning != "" {
		p.Warnings = append(p.Warnings, warning)
	}
	w := newWish(sys.GOOS, o.Binary, v, known, o.Force)
	e, err := planSettings(file, m, func(e *settingsEdit) ([]Change, error) { return e.install(w) })
	if err != nil {
		return nil, err
	}
	if e.After == nil { // never: an install leaves hooks in the file
		return nil, fmt.Errorf("settings %q: nothing to write", file.path)
	}
	e.record.CreatedFile = e.Before == nil
	e.record.Created = missingDirs(filepath.Dir(e.target))
	// A file that an earlier install made has nothing of the user's to go back to.
	earlier, _ := m.settings(file.path)
	if e.Changed() && e.Before != nil && !earlier.CreatedFile && !fileExists(backupPath(e.Path)) {
		e.Backup = backupPath(e.Path)
	}
	p.Settings = []SettingsEdit{*e}
	if e.Changed() {
		if err := writableSettings(file.path, e.target); err != nil {
			return nil, err
		}
	}
	return p, p.warn(sys, m, file, w)
}

func backupPath(path string) string { return path + backupSuffix }

// planSettings reads a settings file and changes its text by edit.
func planSettings(file claudeFile, m manifest, edit func(*settingsEdit) ([]Change, error)) (*SettingsEdit, error) {
	f, err := file.read()
	if err != nil {
		return nil, err
	}
	text := f.data
	mode := f.mode
	if !f.exists {
		text, mode = []byte("{}\n"), 0o600
		if file.scope == ScopeProject {
			mode = 0o644
		}
	}
	rec, _ := m.settings(file.path)
	rec.Path, rec.Scope, rec.Project = file.path, file.scope, file.project
	e, err := openSettings(text, rec.Empty)
	if err != nil {
		return nil, fmt.Errorf("settings %q: %w: fix the file (Claude Code cannot read it either); nothing was changed", file.path, err)
	}
	changes, err := edit(e)
	if err != nil {
		return nil, fmt.Errorf("settings %q: %w: fix or remove it; nothing was changed", file.path, err)
	}
	rec.Empty = e.empty
	out := &SettingsEdit{
		Scope: file.scope, Path: file.path, Changes: changes, After: e.text,
		file: file, target: f.target, mode: mode, record: rec,
	}
	if f.exists {
		out.Before = f.data
	} else if len(changes) == 0 {
		out.After = nil
	}
	if rec.CreatedFile && e.blank() {
		out.After = nil
	}
	return out, nil
}

// writableSettings asks whether the file can be replaced.
func writableSettings(path, target string) error {
	dir := filepath.Dir(target)
	if missing := missingDirs(dir); len(missing) > 0 {
		dir = filepath.Dir(missing[0])
	}
	if err := mayWrite(dir); err != nil {
		return fmt.Errorf("settings %q: cannot write to %q: %w: give yourself write permission, or remove the obstacle, and run it again", path, dir, err)
	}
	return nil
}

// warn adds what the user should know about an installation.
func (p *ClaudePlan) warn(sys System, m manifest, file claudeFile, w wish) error {
	p.Warnings = append(p.Warnings, sys.claudeOff(file.project)...)
	var unknown []string
	for _, ev := range claudeEvents() {
		if !w.has(ev) {
			unknown = append(unknown, ev.name)
		}
	}
	if len(unknown) > 0 {
		p.Warnings = append(p.Warnings, fmt.Sprintf("Claude Code %d.%d.%d does not have %s: install again after an upgrade",
			w.version[0], w.version[1], w.version[2], strings.Join(unknown, ", ")))
	}
	others, err := sys.claudeFiles(m, file.project)
	if err != nil {
		return err
	}
	for _, other := range others {
		if other.path == file.path || other.project != "" && file.project != "" && other.project != file.project {
			continue
		}
		if hasOurs(other.path) {
			p.Warnings = append(p.Warnings, fmt.Sprintf("hookspan's hooks are in %q too: Claude Code runs equal ones once; where the two differ, each event is stored twice and counted once", other.path))
		}
	}
	if file.scope == ScopeProject {
		p.Warnings = append(p.Warnings, "the hooks name a program on this machine: do not commit them (--scope local is for that)")
	}
	return nil
}

// hasOurs reports that a settings file holds hooks of ours. One that cannot be
// read holds none that run.
func hasOurs(path string) bool {
	f, err := readSettings(path)
	if err != nil || !f.exists {
		return false
	}
	e, err := openSettings(f.data, nil)
	return err == nil && len(e.find()) > 0
}

// PlanClaudeUninstall plans to take hookspan's hooks out of Claude Code's
// settings: those recorded in the state folder and those found where Claude Code
// looks now. It writes nothing. Entries that were edited go too.
func PlanClaudeUninstall(_ context.Context, sys System, o ClaudeOptions) (*ClaudePlan, error) {
	m, err := readManifest(sys.StateDir)
	if err != nil {
		return nil, err
	}
	files, err := sys.claudeUninstallFiles(m, o)
	if err != nil {
		return nil, err
	}
	p := &ClaudePlan{stateDir: sys.StateDir, uninstall: true}
	for _, file := range files {
		_, recorded := m.settings(file.path)
		e, err := planSettings(file, m, func(e *settingsEdit) ([]Change, error) { return e.uninstall() })
		switch {
		case errors.Is(err, errThroughLink) && o.Scope == "" && !o.OnlyProject:
			// The other files are undone all the same.
			if mentionsUs(file.path) {
				p.Warnings = append(p.Warnings, err.Error())
			}
			continue
		case err != nil && !recorded && !mentionsUs(file.path):
			continue // not hookspan's to fix
		case err != nil:
			return nil, err
		}
		if len(e.Changes) == 0 && !recorded {
			continue
		}
		kept, err := regular.Read(backupPath(e.Path), regular.Options{Max: maxSettingsBytes, NoLink: true})
		switch {
		case errors.Is(err, fs.ErrNotExist) || isNotDir(err):
		case err != nil:
			return nil, fmt.Errorf("backup of settings %q: %w", e.Path, err)
		case e.After != nil && bytes.Equal(kept, e.After):
			e.Backup = backupPath(e.Path)
		default:
			p.Warnings = append(p.Warnings, fmt.Sprintf("the settings have changed since they were copied to %q: the copy stays, remove it when you do not need it", backupPath(e.Path)))
		}
		if e.Changed() {
			if err := writableSettings(file.path, e.target); err != nil {
				return nil, err
			}
		}
		p.Settings = append(p.Settings, *e)
	}
	return p, nil
}

func (s System) claudeUninstallFiles(m manifest, o ClaudeOptions) ([]claudeFile, error) {
	if o.Scope != "" {
		f, err := s.claudeFile(o.Scope, o.Project)
		return []claudeFile{f}, err
	}
	all, err := s.claudeFiles(m, o.Project)
	if o.OnlyProject {
		all = slices.DeleteFunc(all, func(f claudeFile) bool { return f.project != filepath.Clean(o.Project) })
	}
	return all, err
}

// mentionsUs reports that a file that cannot be read as settings may hold hooks
// of ours.
func mentionsUs(path string) bool {
	f, err := readSettings(path)
	return err == nil && bytes.Contains(f.data, []byte(claudeHook))
}
