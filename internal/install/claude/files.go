package claude

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/regular"
)

// readers describes where Claude Code reads a file of the scope.
func (p *product) readers(scope string) string {
	switch scope {
	case install.ScopeProject:
		return "read by " + p.name + " in this project, by everybody who has it"
	case install.ScopeLocal:
		return "read by your " + p.name + " in this project"
	default:
		return "read by your " + p.name + " in every project"
	}
}

func (p *product) place(scope, path, project string) install.Place {
	return install.Place{Path: path, Kind: scope, Project: project, Readers: p.readers(scope)}
}

// ownDir is the agent's own folder.
func (p *product) ownDir(sys install.System) (string, error) {
	dir := sys.Env(p.homeVariable)
	if dir == "" {
		return filepath.Join(sys.Home, p.folder), sys.CheckHome()
	}
	if !filepath.IsAbs(dir) {
		return "", fmt.Errorf("%s: found %q, want an absolute path", p.homeVariable, dir)
	}
	if p.homeAbove {
		dir = filepath.Join(dir, p.folder)
	}
	return filepath.Clean(dir), nil
}

// selected finds the settings file that the options select, by default the
// project's or without a project the user's.
func (p *product) selected(sys install.System, o install.Options) (install.Place, error) {
	scope := o.Scope
	switch {
	case scope == install.ScopeUser && o.Project != "":
		return install.Place{}, install.Optionf("--project: the user's settings belong to no project: --scope %s goes with it", strings.Join(p.scopes[1:], " or --scope "))
	case scope == "" && o.Project != "":
		scope = install.ScopeProject
	}
	return p.settingsOf(sys, scope, cmp.Or(o.Project, o.Dir))
}

// settingsOf finds the settings file of a scope.
func (p *product) settingsOf(sys install.System, scope, project string) (install.Place, error) {
	name := p.file
	if scope != "" && !slices.Contains(p.scopes, scope) {
		return install.Place{}, install.Optionf("--scope %q: want %s", scope, p.wantScopes())
	}
	switch scope {
	case "", install.ScopeUser:
		dir, err := p.ownDir(sys)
		return p.place(install.ScopeUser, filepath.Join(dir, name), ""), err
	case install.ScopeLocal:
		name = "settings.local.json"
	}
	if err := install.CheckProject(project); err != nil {
		return install.Place{}, err
	}
	project = filepath.Clean(project)
	return p.place(scope, filepath.Join(project, p.folder, name), project), nil
}

// allSettings lists distinct files: the user's, those of a project, and those of
// the install record.
func (p *product) allSettings(sys install.System, m *install.Manifest, project string) ([]install.Place, error) {
	var list []install.Place
	seen := map[string]bool{}
	add := func(f install.Place) {
		if !seen[f.Path] {
			seen[f.Path] = true
			list = append(list, f)
		}
	}
	user, err := p.settingsOf(sys, install.ScopeUser, "")
	if err != nil {
		return nil, err
	}
	add(user)
	if project != "" {
		for _, scope := range p.scopes[1:] {
			f, err := p.settingsOf(sys, scope, project)
			if err != nil {
				return nil, err
			}
			add(f)
		}
	}
	for _, rec := range p.records(m) {
		add(p.place(rec.Scope, rec.Path, rec.Project))
	}
	return list, nil
}

// maxSettingsBytes bounds what is read of a settings file. Real ones have a few
// kilobytes.
const maxSettingsBytes = 16 << 20

// read reads settings for a change. Symbolic links are followed to the user's, not
// to a project's.
func read(p install.Place) (install.File, error) {
	if err := install.ThroughLink(p.Project, p.Path); err != nil {
		return install.File{}, fmt.Errorf("settings %q: %w", p.Path, err)
	}
	return readSettings(p.Path)
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
