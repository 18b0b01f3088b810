package settings

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/jsonedit"
)

// File is a settings file that an agent reads.
type File struct {
	// Path is absolute; there need not be a file.
	Path string
	// Scope is install.Options.Scope for the file, or install.ScopeManaged.
	Scope string
	// Members are the settings by their names, nil for a file that cannot be read.
	Members map[string]json.RawMessage
}

// Bool returns a setting that is true or false. ok is false if the file does not have
// it.
func (f File) Bool(name string) (value, ok bool) {
	var v *bool
	_ = json.Unmarshal(f.Members[name], &v) // a value of another type counts as false
	return v != nil && *v, v != nil
}

// Files lists the settings files that the agent reads in a project, or without a
// project the user's, those of the highest precedence first.
func (a *Spec) Files(sys install.System, project string) []File {
	var files []File
	add := func(scope, path string) { files = append(files, File{path, scope, a.members(path)}) }
	if a.ManagedDir != nil {
		dir := a.managedDir(sys)
		if a.ManagedFile != "" {
			add(install.ScopeManaged, filepath.Join(dir, a.ManagedFile))
		}
		if a.ManagedPattern != "" {
			more, _ := filepath.Glob(filepath.Join(dir, a.ManagedPattern)) // the pattern is valid
			for _, path := range more {
				add(install.ScopeManaged, path)
			}
		}
	}
	for _, scope := range slices.Backward(a.Agent.Scopes) {
		if scope != install.ScopeUser && project == "" {
			continue
		}
		if place, err := a.scopePlace(sys, scope, project); err == nil {
			add(scope, place.Path)
		}
	}
	if dir, err := a.Dir(sys); err == nil && a.SwitchesFile != "" {
		add(install.ScopeUser, filepath.Join(dir, a.SwitchesFile))
	}
	return files
}

// members reads the members of settings. There are none if it cannot read them.
func (a *Spec) members(path string) (members map[string]json.RawMessage) {
	f, err := readSettings(path)
	if err != nil {
		return nil
	}
	text := bytes.TrimPrefix(f.Data, []byte(jsonedit.ByteOrderMark))
	if a.Comments {
		text = jsonedit.WithoutComments(text)
	}
	if json.Unmarshal(text, &members) != nil {
		return nil
	}
	return members
}

// offReasons lists why the agent does not run hookspan's hooks in a project, or,
// without a project, anywhere. managed is for hooks of an organisation.
func (a *Spec) offReasons(sys install.System, project string, managed bool) (reasons []string) {
	switch files := a.Files(sys, project); {
	case managed:
		// The user's settings do not switch these off, and one of two agents' own does.
		if a.Off != nil && a.ManagedFile != "" {
			reasons = DisableAllHooks(a.Agent.Name, slices.DeleteFunc(files, func(f File) bool { return f.Scope != install.ScopeManaged }))
		}
	case a.Off != nil:
		reasons = a.Off(sys, files)
	}
	for i := range reasons {
		reasons[i] += ": nothing is recorded"
	}
	return reasons
}

// DisableAllHooks reads the setting of this name, for Spec.Off: the file of the
// highest precedence that has it decides. It returns why the agent of that name runs
// no hooks, or nothing.
func DisableAllHooks(agent string, files []File) []string {
	for _, f := range files {
		switch off, ok := f.Bool("disableAllHooks"); {
		case off:
			return []string{fmt.Sprintf("hooks are switched off in %s's settings (disableAllHooks in %q)", agent, f.Path)}
		case ok:
			return nil
		}
	}
	return nil
}

// IsOn reports that the value of a variable switches something on.
func IsOn(value string) bool {
	return slices.Contains([]string{"1", "true", "yes", "on"}, strings.ToLower(strings.TrimSpace(value)))
}
