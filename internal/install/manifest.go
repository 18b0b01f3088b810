package install

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/internal/files/atomicfile"
	"github.com/hookspan/hookspan/internal/files/regular"
)

// manifestName is the file in the state folder that records what the installed
// files themselves cannot.
const manifestName = "install.json"

// manifestVersion is the version this package writes and the highest it reads.
const manifestVersion = 1

// Manifest is what an install records for the uninstall.
type Manifest struct {
	Version int `json:"version"`
	// StateCreated are the folders created to hold this file, outermost first.
	StateCreated []string `json:"state_created,omitempty"`
	// Folders are the hook folders installed into, Settings the settings files.
	Folders  Records `json:"folders"`
	Settings Records `json:"settings,omitempty"`
}

// Record is a hook folder or settings file that was installed into.
type Record struct {
	// Agent is the word of the agent that reads a settings file, empty for Claude
	// Code.
	Agent string `json:"agent,omitempty"`
	Path  string `json:"path"`
	// Role says who reads a folder, Scope who reads a settings file.
	Role  string `json:"role,omitempty"`
	Scope string `json:"scope,omitempty"`
	// Workspace is the project that a folder belongs to, Project the one that a
	// settings file belongs to. Both are empty for the user's.
	Workspace string `json:"workspace,omitempty"`
	Project   string `json:"project,omitempty"`
	// Created are the folders that installing created, outermost first;
	// CreatedFile reports that it created the settings file too.
	Created     []string `json:"created,omitempty"`
	CreatedFile bool     `json:"created_file,omitempty"`
	// ForHooks is Options.ForHooks of the install that wrote PreToolUse.
	ForHooks bool `json:"pre_tool_use_for_hooks,omitempty"`
	// Programs are the hook programs that entries in the settings file start.
	Programs []string `json:"programs,omitempty"`
	// Empty is the white space and comments of JSON containers that were empty before.
	Empty map[string]string `json:"empty,omitempty"`
}

// Place is what was installed into, without its readers.
func (r Record) Place() Place {
	return Place{Path: r.Path, Kind: cmp.Or(r.Role, r.Scope), Project: cmp.Or(r.Workspace, r.Project)}
}

// Records are records with distinct paths.
type Records []Record

// Find returns the record of a path, or nil.
func (r Records) Find(path string) *Record {
	if i := slices.IndexFunc(r, func(have Record) bool { return have.Path == path }); i >= 0 {
		return &r[i]
	}
	return nil
}

// Add records what was installed. What an earlier install created stays recorded.
func (r *Records) Add(add Record) {
	have := r.Find(add.Path)
	if have == nil {
		*r = append(*r, add)
		return
	}
	add.Created = union(have.Created, add.Created)
	add.CreatedFile = add.CreatedFile || have.CreatedFile
	add.ForHooks = add.ForHooks || have.ForHooks
	for _, program := range have.Programs {
		if !slices.Contains(add.Programs, program) {
			add.Programs = append(add.Programs, program)
		}
	}
	*have = add
}

// Drop removes the record of a path. Remaining records in folders that were
// created for it take over those folders.
func (r *Records) Drop(path string) {
	gone := r.Find(path)
	if gone == nil {
		return
	}
	created := gone.Created
	*r = slices.DeleteFunc(*r, func(have Record) bool { return have.Path == path })
	for i := range *r {
		have := &(*r)[i]
		for _, dir := range created {
			if strings.HasPrefix(have.Path, dir+string(filepath.Separator)) {
				have.Created = union(have.Created, []string{dir})
			}
		}
	}
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

// bare reports a manifest without records.
func (m *Manifest) bare() bool { return len(m.Folders) == 0 && len(m.Settings) == 0 }

// RemoveState removes a state folder of hookspan's name without a manifest in which nothing
// is: an install that was killed did not record that it created it.
func RemoveState(stateDir string) {
	atomicfile.RemoveTemps(filepath.Join(stateDir, manifestName))
	if filepath.Base(stateDir) == "hookspan" {
		_ = atomicfile.RemoveFolder(stateDir)
	}
}

// ReadManifest reads the manifest in a state folder. It is empty where there is
// none.
func ReadManifest(stateDir string) (*Manifest, error) {
	m := &Manifest{Version: manifestVersion}
	if stateDir == "" {
		return m, nil
	}
	path := filepath.Join(stateDir, manifestName)
	data, err := regular.Read(path, regular.Options{Max: maxFileBytes})
	if errors.Is(err, fs.ErrNotExist) || IsNotDir(err) {
		return m, nil
	}
	if err != nil {
		return nil, fmt.Errorf("install record %q: %w", path, err)
	}
	if err := json.Unmarshal(data, m); err != nil {
		return nil, fmt.Errorf("install record %q: %w: remove the file; folders that installing created will then stay", path, err)
	}
	if m.Version > manifestVersion {
		return nil, fmt.Errorf("install record %q: version %d, this hookspan reads up to %d: use the newer hookspan", path, m.Version, manifestVersion)
	}
	return m, nil
}

// updateManifest changes the manifest in a state folder. The caller holds the lock.
func updateManifest(stateDir string, change func(*Manifest)) (*Manifest, error) {
	m, err := ReadManifest(stateDir)
	if err != nil {
		return nil, err
	}
	change(m)
	if stateDir == "" {
		return m, nil
	}
	if err := m.write(filepath.Join(stateDir, manifestName)); err != nil {
		return nil, fmt.Errorf("install record: %w", err)
	}
	return m, nil
}

// write replaces the file, or removes it when there is nothing to record.
func (m *Manifest) write(path string) error {
	if m.bare() {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	data = append(data, '\n')
	if have, err := regular.Read(path, regular.Options{Max: maxFileBytes}); err == nil && bytes.Equal(have, data) {
		return nil
	}
	return atomicfile.Write(path, data, atomicfile.Options{})
}
