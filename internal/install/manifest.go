package install

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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
	StateCreated []string         `json:"state_created,omitempty"`
	Folders      []manifestFolder `json:"folders"`
}

// manifestFolder is a hook folder that was installed into.
type manifestFolder struct {
	Path string `json:"path"`
	Role Role   `json:"role"`
	// Workspace is the project the folder belongs to, empty for the user's.
	Workspace string `json:"workspace,omitempty"`
	// Created are the folders that installing created, outermost first.
	Created []string `json:"created,omitempty"`
}

// readManifest returns an empty manifest where there is none.
func readManifest(stateDir string) (manifest, error) {
	m := manifest{Version: manifestVersion}
	if stateDir == "" {
		return m, nil
	}
	path := filepath.Join(stateDir, manifestName)
	data, err := os.ReadFile(path)
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

// write replaces the file, or removes it when it would record nothing.
func (m *manifest) write(stateDir string) error {
	path := filepath.Join(stateDir, manifestName)
	if len(m.Folders) == 0 {
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
	if have, err := os.ReadFile(path); err == nil && slices.Equal(have, data) {
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
