package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hookspan/hookspan/internal/regular"
)

// Scope says for whom a settings file of Claude Code counts. Claude Code adds
// the hooks of all of them together.
type Scope string

// The scopes that hooks can be installed in.
const (
	// ScopeUser is the user's own settings, read in every project.
	ScopeUser Scope = "user"
	// ScopeProject is a project's settings, which its users share.
	ScopeProject Scope = "project"
	// ScopeLocal is the user's own settings for one project.
	ScopeLocal Scope = "local"
)

// Scopes lists the scopes, widest first.
func Scopes() []Scope { return []Scope{ScopeUser, ScopeProject, ScopeLocal} }

// Readers says where Claude Code reads a file of the scope, for people.
func (s Scope) Readers() string {
	switch s {
	case ScopeProject:
		return "read by Claude Code in this project, by everybody who has it"
	case ScopeLocal:
		return "read by your Claude Code in this project"
	default:
		return "read by your Claude Code in every project"
	}
}

// claudeTimeout is how long Claude Code waits for a hook, in seconds. A hook
// answers in milliseconds; this bounds what a stuck disk can cost. At SessionEnd
// it also raises the 1.5 s that all hooks share there.
const claudeTimeout = 10

// claudeEvent is one event of Claude Code that hookspan records.
type claudeEvent struct {
	name string
	// async has Claude Code go on without waiting for the hook.
	async bool
	// since is the first version known to have the event, empty for those that
	// are older than any version that matters. An older Claude Code may warn
	// about the name.
	since string
}

// claudeEvents lists what is installed, in the order in which it stands in a
// settings file. Left out on purpose are WorktreeCreate, where any hook takes
// git's place; PreModelSwitch, which a hook that times out blocks; MessageDisplay,
// which comes for every piece of streamed text; and PostToolBatch, which repeats
// what PostToolUse has told.
//
// The versions are those of Claude Code's change log. It does not name two of
// them: PostToolUseFailure stands in descriptions of 2.1.1, UserPromptExpansion
// in the reference of 2.1.152 and in none before 2.1.114.
func claudeEvents() []claudeEvent {
	return []claudeEvent{
		{name: "SessionStart"},
		{name: "UserPromptSubmit"},
		{name: "UserPromptExpansion", since: "2.1.152"},
		{name: "PreToolUse"},
		{name: "PermissionRequest", since: "2.0.45"},
		{name: "PermissionDenied", since: "2.1.89"},
		{name: "PostToolUse"},
		{name: "PostToolUseFailure", since: "2.1.1"},
		{name: "SubagentStart", since: "2.0.43"},
		{name: "SubagentStop"},
		{name: "Notification"},
		{name: "PreCompact"},
		{name: "PostCompact", since: "2.1.76"},
		{name: "PostModelSwitch", since: "2.1.251"},
		{name: "Elicitation", since: "2.1.76"},
		{name: "ElicitationResult", since: "2.1.76"},
		{name: "TaskCreated", since: "2.1.84"},
		{name: "TaskCompleted", since: "2.1.33"},
		{name: "Stop"},
		{name: "StopFailure", since: "2.1.78"},
		{name: "SessionEnd"},
	}
}

// claudeEventNamed finds an event that hookspan records.
func claudeEventNamed(name string) (claudeEvent, bool) {
	for _, ev := range claudeEvents() {
		if ev.name == name {
			return ev, true
		}
	}
	return claudeEvent{}, false
}

// ClaudeOptions say what to install, and where to look.
type ClaudeOptions struct {
	// Binary is the absolute path of claude-hook.
	Binary string
	// Scope says which settings file to edit. If empty, the user's for an
	// install, and every file for an uninstall.
	Scope Scope
	// Project is the absolute path of the project that ScopeProject and
	// ScopeLocal mean. For an uninstall without Scope and for a status it is
	// looked at beside what the install record names; if empty, it is not.
	Project string
	// OnlyProject limits an uninstall without Scope to the files of Project.
	OnlyProject bool
	// Force rewrites entries of ours that were edited since.
	Force bool
}

// claudeFile is a settings file of Claude Code.
type claudeFile struct {
	scope Scope
	// path is where Claude Code looks for it.
	path string
	// project is the project's folder, empty for the user's own.
	project string
}

// claudeDir is Claude Code's own folder.
func (s System) claudeDir() (string, error) {
	dir := s.getenv("CLAUDE_CONFIG_DIR")
	if dir == "" {
		if !filepath.IsAbs(s.Home) {
			return "", fmt.Errorf("home folder %q: want an absolute path: set HOME", s.Home)
		}
		return filepath.Join(s.Home, ".claude"), nil
	}
	if !filepath.IsAbs(dir) {
		return "", fmt.Errorf("CLAUDE_CONFIG_DIR: found %q, want an absolute path", dir)
	}
	return filepath.Clean(dir), nil
}

// claudeFile finds the settings file of a scope.
func (s System) claudeFile(scope Scope, project string) (claudeFile, error) {
	name := "settings.json"
	switch scope {
	case "", ScopeUser:
		dir, err := s.claudeDir()
		return claudeFile{scope: ScopeUser, path: filepath.Join(dir, name)}, err
	case ScopeProject:
	case ScopeLocal:
		name = "settings.local.json"
	default:
		return claudeFile{}, fmt.Errorf("scope %q: want %s, %s or %s", scope, ScopeUser, ScopeProject, ScopeLocal)
	}
	if !filepath.IsAbs(project) {
		return claudeFile{}, fmt.Errorf("project folder %q: want an absolute path", project)
	}
	project = filepath.Clean(project)
	if info, err := os.Stat(project); err != nil {
		return claudeFile{}, fmt.Errorf("project folder %q: %w", project, err)
	} else if !info.IsDir() {
		return claudeFile{}, fmt.Errorf("project folder %q: not a folder: name the project's root folder", project)
	}
	return claudeFile{scope: scope, path: filepath.Join(project, ".claude", name), project: project}, nil
}

// claudeFiles lists the files to look at: the user's, those of a project, and
// those that the install record names. No file is in it twice.
func (s System) claudeFiles(m manifest, project string) ([]claudeFile, error) {
	var list []claudeFile
	seen := map[string]bool{}
	add := func(f claudeFile) {
		if !seen[f.path] {
			seen[f.path] = true
			list = append(list, f)
		}
	}
	user, err := s.claudeFile(ScopeUser, "")
	if err != nil {
		return nil, err
	}
	add(user)
	if project != "" {
		for _, scope := range []Scope{ScopeProject, ScopeLocal} {
			f, err := s.claudeFile(scope, project)
			if err != nil {
				return nil, err
			}
			add(f)
		}
	}
	for _, rec := range m.Settings {
		add(claudeFile{scope: rec.Scope, path: rec.Path, project: rec.Project})
	}
	return list, nil
}

// settingsFile is a settings file as it was found.
type settingsFile struct {
	// target is the file itself where path is a symbolic link, else path.
	target string
	exists bool
	data   []byte
	mode   fs.FileMode
}

// maxSettingsBytes bounds what is read of a settings file. Real ones have a few
// kilobytes.
const maxSettingsBytes = 16 << 20

// read reads the file for a change: the user's through symbolic links, a project's
// through none.
func (c claudeFile) read() (settingsFile, error) {
	if err := throughLink(c.project, c.path); err != nil {
		return settingsFile{}, fmt.Errorf("settings %q: %w", c.path, err)
	}
	return readSettings(c.path)
}

// readSettings reads a settings file through symbolic links.
func readSettings(path string) (settingsFile, error) {
	f := settingsFile{target: path}
	if isLink(path) {
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
	case isNotDir(err):
		return f, fmt.Errorf("settings %q: %w: a file stands where its folder should: move the file away", path, err)
	case err != nil:
		return f, fmt.Errorf("settings %q: %w", path, err)
	}
	f.data, f.exists, f.mode = data, true, info.Mode().Perm()
	return f, nil
}

// claudeVersion asks for the version and says whether it is known. What keeps it
// unknown, other than that there is no claude to ask, is a warning.
func (s System) claudeVersion(ctx context.Context) (v version, known bool, warning string) {
	if s.ClaudeVersion == nil {
		return v, false, ""
	}
	text, err := s.ClaudeVersion(ctx)
	if err != nil {
		return v, false, fmt.Sprintf("the version of Claude Code is not known (%v); the hooks are written so that any version runs them", err)
	}
	if text == "" {
		return v, false, ""
	}
	if v, known = parseVersion(text); !known {
		return v, false, fmt.Sprintf("the version of Claude Code is not known (it said %q); the hooks are written so that any version runs them", text)
	}
	return v, true, ""
}
