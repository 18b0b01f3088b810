package settings

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/internal/files/regular"
	"github.com/hookspan/hookspan/internal/install"
)

// place describes a settings file.
func (a *Spec) place(scope, path, project string) install.Place {
	readers := "read by your " + a.Agent.Name + " in every project"
	switch scope {
	case install.ScopeProject:
		readers = "read by " + a.Agent.Name + " in this project, by everybody who has it"
	case install.ScopeLocal:
		readers = "read by your " + a.Agent.Name + " in this project"
	case install.ScopeManaged:
		readers = "read by everybody's " + a.Agent.Name + " on this machine"
	}
	return install.Place{Path: path, Kind: scope, Project: project, Readers: readers}
}

// Dir is the agent's folder of the user.
func (a *Spec) Dir(sys install.System) (string, error) {
	variable := a.Agent.Folders[0]
	dir := sys.Env(variable)
	if dir == "" {
		return filepath.Join(sys.Home, a.Agent.Folder), sys.CheckHome()
	}
	if !filepath.IsAbs(dir) {
		return "", fmt.Errorf("%s: found %q, want an absolute path", variable, dir)
	}
	if a.HomeIsParent {
		dir = filepath.Join(dir, a.Agent.Folder)
	}
	return filepath.Clean(dir), nil
}

// selectedPlace finds the settings file that the options select, by default the
// project's or without a project the user's.
func (a *Spec) selectedPlace(sys install.System, o install.Options) (install.Place, error) {
	scope := o.Scope
	switch {
	case scope == install.ScopeUser && o.Project != "":
		return install.Place{}, install.Optionf("--project: the user's settings belong to no project: --scope %s goes with it", strings.Join(a.Agent.Scopes[1:], " or --scope "))
	case scope == "" && o.Project != "":
		scope = install.ScopeProject
	}
	return a.scopePlace(sys, scope, cmp.Or(o.Project, o.Dir))
}

// scopePlace finds the settings file of a scope.
func (a *Spec) scopePlace(sys install.System, scope, project string) (install.Place, error) {
	if scope != "" && !slices.Contains(a.Agent.Scopes, scope) {
		last := len(a.Agent.Scopes) - 1
		want := a.Agent.Scopes[last]
		if last > 0 {
			want = strings.Join(a.Agent.Scopes[:last], ", ") + " or " + want
		}
		return install.Place{}, install.Optionf("--scope %q: want %s", scope, want)
	}
	name := a.File
	switch scope {
	case "", install.ScopeUser:
		dir, err := a.Dir(sys)
		return a.place(install.ScopeUser, filepath.Join(dir, name), ""), err
	case install.ScopeLocal:
		name = a.LocalFile
	}
	if err := install.CheckProject(project); err != nil {
		return install.Place{}, err
	}
	project = filepath.Clean(project)
	return a.place(scope, filepath.Join(project, a.Agent.Folder, name), project), nil
}

// allPlaces lists distinct settings files: the user's, those of a project, and those
// of the install record.
func (a *Spec) allPlaces(sys install.System, m *install.Manifest, project string) ([]install.Place, error) {
	var list []install.Place
	add := func(place install.Place) {
		if !slices.ContainsFunc(list, func(have install.Place) bool { return have.Path == place.Path }) {
			list = append(list, place)
		}
	}
	for _, scope := range a.Agent.Scopes {
		if scope != install.ScopeUser && project == "" {
			continue
		}
		place, err := a.scopePlace(sys, scope, project)
		if err != nil {
			return nil, err
		}
		add(place)
	}
	for _, rec := range m.Settings {
		if rec.Agent == a.Agent.Argument() {
			add(a.place(rec.Scope, rec.Path, rec.Project))
		}
	}
	return list, nil
}

// maxSettingsBytes bounds what is read of a settings file. Real ones have a few
// kilobytes.
const maxSettingsBytes = 16 << 20

// read reads settings for a change. Symbolic links are followed to the user's, not
// to a project's.
func read(place install.Place) (install.File, error) {
	if err := install.ThroughLink(place.Project, place.Path); err != nil {
		return install.File{}, fmt.Errorf("settings %q: %w", place.Path, err)
	}
	return readSettings(place.Path)
}

// readSettings reads a settings file. The returned file's path is that of the file
// itself where path is a symbolic link.
func readSettings(path string) (install.File, error) {
	f := install.File{Path: path}
	if install.IsLink(path) {
		target, err := filepath.EvalSymlinks(path)
		if errors.Is(err, fs.ErrNotExist) {
			return f, fmt.Errorf("settings %q: the symbolic link points to nothing: create its target or remove the link", path)
		}
		if err != nil {
			return f, fmt.Errorf("settings %q: %w", path, err)
		}
		f.Path = target
	}
	data, info, err := regular.ReadStat(f.Path, regular.Options{Max: maxSettingsBytes, NoLink: true})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, nil
	case install.IsNotDir(err):
		return f, fmt.Errorf("settings %q: %w: there is a file in the place of its folder: move the file away", path, err)
	case err != nil:
		return f, fmt.Errorf("settings %q: %w", path, err)
	}
	f.Data, f.Info = data, info
	return f, nil
}
