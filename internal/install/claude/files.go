package claude

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/regular"
)

// The scopes of Claude Code's settings files. Claude Code adds the hooks of all
// of them together.
const (
	// ScopeUser is the user's own settings, read in every project.
	ScopeUser = "user"
	// ScopeProject is a project's settings, which its users share.
	ScopeProject = "project"
	// ScopeLocal is the user's own settings for one project.
	ScopeLocal = "local"
)

// readers describes where Claude Code reads a file of the scope.
func readers(scope string) string {
	switch scope {
	case ScopeProject:
		return "read by Claude Code in this project, by everybody who has it"
	case ScopeLocal:
		return "read by your Claude Code in this project"
	default:
		return "read by your Claude Code in every project"
	}
}

// settingsPath is the path of a settings file of Claude Code.
type settingsPath struct {
	scope string
	// path is where Claude Code looks for it.
	path string
	// project is the project's folder, empty for the user's own.
	project string
}

// ownDir is Claude Code's own folder.
func ownDir(sys install.System) (string, error) {
	dir := sys.Env("CLAUDE_CONFIG_DIR")
	if dir == "" {
		return filepath.Join(sys.Home, ".claude"), sys.CheckHome()
	}
	if !filepath.IsAbs(dir) {
		return "", fmt.Errorf("CLAUDE_CONFIG_DIR: found %q, want an absolute path", dir)
	}
	return filepath.Clean(dir), nil
}

// selected finds the settings file that the options select, by default the
// project's or without a project the user's.
func selected(sys install.System, o install.Options) (settingsPath, error) {
	scope := o.Scope
	switch {
	case scope == ScopeUser && o.Project != "":
		return settingsPath{}, install.Optionf("--project: the user's settings belong to no project: --scope project or --scope local goes with it")
	case scope == "" && o.Project != "":
		scope = ScopeProject
	}
	return settingsOf(sys, scope, cmp.Or(o.Project, o.Dir))
}

// settingsOf finds the settings file of a scope.
func settingsOf(sys install.System, scope, project string) (settingsPath, error) {
	name := "settings.json"
	switch scope {
	case "", ScopeUser:
		dir, err := ownDir(sys)
		return settingsPath{scope: ScopeUser, path: filepath.Join(dir, name)}, err
	case ScopeProject:
	case ScopeLocal:
		name = "settings.local.json"
	default:
		return settingsPath{}, install.Optionf("--scope %q: want %s, %s or %s", scope, ScopeUser, ScopeProject, ScopeLocal)
	}
	if err := install.CheckProject(project); err != nil {
		return settingsPath{}, err
	}
	project = filepath.Clean(project)
	return settingsPath{scope: scope, path: filepath.Join(project, ".claude", name), project: project}, nil
}

// allSettings lists distinct files: the user's, those of a project, and those of
// the install record.
func allSettings(sys install.System, m *install.Manifest, project string) ([]settingsPath, error) {
	var list []settingsPath
	seen := map[string]bool{}
	add := func(f settingsPath) {
		if !seen[f.path] {
			seen[f.path] = true
			list = append(list, f)
		}
	}
	user, err := settingsOf(sys, ScopeUser, "")
	if err != nil {
		return nil, err
	}
	add(user)
	if project != "" {
		for _, scope := range []string{ScopeProject, ScopeLocal} {
			f, err := settingsOf(sys, scope, project)
			if err != nil {
				return nil, err
			}
			add(f)
		}
	}
	for _, rec := range m.Settings {
		add(settingsPath{scope: rec.Scope, path: rec.Path, project: rec.Project})
	}
	return list, nil
}

// settings is a settings file as it was found.
type settings struct {
	// target is the file itself where path is a symbolic link, else path.
	target string
	exists bool
	data   []byte
	mode   fs.FileMode
}

// maxSettingsBytes bounds what is read of a settings file. Real ones have a few
// kilobytes.
const maxSettingsBytes = 16 << 20

// read reads the file for a change. Symbolic links are followed to the user's, not
// to a project's.
func (p settingsPath) read() (settings, error) {
	if err := install.ThroughLink(p.project, p.path); err != nil {
		return settings{}, fmt.Errorf("settings %q: %w", p.path, err)
	}
	return readSettings(p.path)
}

// readSettings reads a settings file through symbolic links.
func readSettings(path string) (settings, error) {
	f := settings{target: path}
	if install.IsLink(path) {
		target, err := filepath.EvalSymlinks(path)
		if errors.Is(err, fs.ErrNotExist) {
			return f, fmt.Errorf("settings %q: the symbolic link points to nothing: create its target or remove the link", path)
		}
		if err != nil {
			return f, fmt.Errorf("settings %q: %w", path, err)
		}
		f.target = target
	}
	data, info, err := regular.ReadStat(f.target, regular.Options{Max: maxSettingsBytes, NoLink: true})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, nil
	case install.IsNotDir(err):
		return f, fmt.Errorf("settings %q: %w: there is a file in the place of its folder: move the file away", path, err)
	case err != nil:
		return f, fmt.Errorf("settings %q: %w", path, err)
	}
	f.data, f.exists, f.mode = data, true, info.Mode().Perm()
	return f, nil
}
