package install

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/internal/regular"
)

// manifestName is the file in the state folder that remembers what the hook
// files themselves cannot say.
const manifestName = "install.json"

// manifestVersion is the version this package writes and the highest it reads.
const manifestVersion = 1

// manifest is what an install leaves for the uninstall.
type manifest struct {
	Version int `json:"version"`
	// StateCreated are the folders created to hold this file, outermost first.
	StateCreated []string           `json:"state_created,omitempty"`
	Folders      []manifestFolder   `json:"folders"`
	Settings     []manifestSettings `json:"settings,omitempty"`
}

// manifestFolder is a hook folder that was installed into.
type manifestFolder struct {
	Path string `json:"path"`
	Role Role   `json:"role"`
	// Workspace is the project the folder belongs to, empty for the user's.
	Workspace string `json:"workspace,omitempty"`
	// Created are the folders that installing created, outermost first.
	Created []string `json:"created,omitempty"`
	// ForHooks records Options.ForHooks of the install that wrote PreToolUse.
	ForHooks bool `json:"pre_tool_use_for_hooks,omitempty"`
}

// manifestSettings is a settings file of Claude Code that was installed into.
type manifestSettings struct {
	Path  string `json:"path"`
	Scope Scope  `json:"scope"`
	// Project is the project the file belongs to, empty for the user's.
	Project string `json:"project,omitempty"`
	// Created are the folders that installing created, outermost first;
	// CreatedFile says that it created the file too.
	Created     []string `json:"created,omitempty"`
	CreatedFile bool     `json:"created_file,omitempty"`
	// Empty is what stood in the containers that hooks were put into.
	Empty emptied `json:"empty,omitempty"`
}

// readManifest returns an empty manifest where there is none.
func readManifest(stateDir string) (manifest, error) {
	m := manifest{Version: manifestVersion}
	if stateDir == "" {
		return m, nil
	}
	path := filepath.Join(stateDir, manifestName)
	data, err := regular.Read(path, regular.Options{Max: maxSettingsBytes})
	if errors.Is(err, fs.ErrNotExist) || isNotDir(err) {
		return m, nil
	}
	if err != nil {
		return m, fmt.Errorf("install record %q: %w", path, err)
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return m, fmt.Errorf("install record %q: %w: remove the file; folders that installing created will then stay", path, err)
	}
	if m.Version > manifestVersion {
		return m, fmt.Errorf("install record %q: version %d, this hookspan reads up to %d: use the newer hookspan", path, m.Version, manifestVersion)
	}
	return m, nil
}

// mark records for whom a folder has PreToolUse.
func (m *manifest) mark(path string, forHooks bool) {
	for i := range m.Folders {
		if m.Folders[i].Path == path {
			m.Folders[i].ForHooks = forHooks
		}
	}
}

// add records a folder and what was created for it.
func (m *manifest) add(f manifestFolder) {
	i := slices.IndexFunc(m.Folders, func(have manifestFolder) bool { return have.Path == f.Path })
	if i < 0 {
		m.Folders = append(m.Folders, f)
		return
	}
	have := &m.Folders[i]
	have.Role, have.Workspace = f.Role, f.Workspace
	have.Created = union(have.Created, f.Created)
}

// union joins two lists of nested folders, outermost first. Two installs at the
// same moment can each have found a part of them missing.
func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, dir := range b {
		if !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	slices.SortStableFunc(out, func(a, b string) int { return len(a) - len(b) })
	return out
}

// drop forgets a folder.
func (m *manifest) drop(path string) {
	m.Folders = slices.DeleteFunc(m.Folders, func(f manifestFolder) bool { return f.Path == path })
}

// settings finds what is recorded of a settings file.
func (m *manifest) settings(path string) (manifestSettings, bool) {
	for _, s := range m.Settings {
		if s.Path == path {
			return s, true
		}
	}
	return manifestSettings{}, false
}

// addSettings records a settings file. What an earlier install found and created
// stays on record.
func (m *manifest) addSettings(s manifestSettings) {
	if have, ok := m.settings(s.Path); ok {
		s.Created = union(have.Created, s.Created)
		s.CreatedFile = s.CreatedFile || have.CreatedFile
	}
	m.dropSettings(s.Path)
	m.Settings = append(m.Settings, s)
	slices.SortFunc(m.Settings, func(a, b manifestSettings) int { return strings.Compare(a.Path, b.Path) })
}

// dropSettings forgets a settings file.
func (m *manifest) dropSettings(path string) {
	m.Settings = slices.DeleteFunc(m.Settings, func(s manifestSettings) bool { return s.Path == path })
}

// inherit hands the folders that were created for a forgotten file on to those
// that still lie in them.
func (m *manifest) inherit(gone manifestSettings) {
	for i := range m.Settings {
		s := &m.Settings[i]
		for _, dir := range gone.Created {
			if strings.HasPrefix(s.Path, dir+string(filepath.Separator)) {
				s.Created = union(s.Created, []string{dir})
			}
		}
	}
}

// bare reports that there is nothing to remember.
func (m *manifest) bare() bool { return len(m.Folders) == 0 && len(m.Settings) == 0 }

// write replaces the file, or removes it when it would record nothing.
func (m *manifest) write(stateDir string) error {
	path := filepath.Join(stateDir, manifestName)
	if m.bare() {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("install record %q: %w", path, err)
		}
		return nil
	}
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("install record %q: %w", path, err)
	}
	data = append(data, '\n')
	if have, err := regular.Read(path, regular.Options{Max: maxSettingsBytes}); err == nil && slices.Equal(have, data) {
		return nil
	}
	temp, err := writeTemp(stateDir, data, 0o600)
	if err != nil {
		return fmt.Errorf("install record %q: %w", path, err)
	}
	if err := os.Rename(temp, path); err != nil {
		return fmt.Errorf("install record %q: %w", path, errors.Join(err, os.Remove(temp)))
	}
	return nil
}

// missingDirs lists the folders that must be created for dir to exist,
// outermost first.
func missingDirs(dir string) []string {
	var list []string
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		if _, err := os.Stat(at); err == nil || at == filepath.Dir(at) {
			slices.Reverse(list)
			return list
		}
		list = append(list, at)
	}
}
