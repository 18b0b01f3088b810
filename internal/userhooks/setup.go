package userhooks

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
	"github.com/hookspan/hookspan/internal/userhooks/hookrun"
	"github.com/hookspan/hookspan/internal/userhooks/translate"
)

// Setup is where the user's hooks are configured.
type Setup struct {
	// Home is the home folder.
	Home, GOOS string
	// ClineDir, ClaudeDir and Path are the environment's CLINE_DIR,
	// CLAUDE_CONFIG_DIR and PATH.
	ClineDir, ClaudeDir, Path string
	Trust                     hookfile.Trust
	// Conditions are those of hookrun.Runner. Without them only plain hooks can be decided.
	Conditions hookrun.Conditions
	// Faults lists what in a file will not work, as hookcheck.Check does.
	Faults func(*hookfile.File, hookfile.Place) []hookfile.Problem
	// Host reads the hosts of addresses, as in plain.Scope.
	Host func(address string) (string, error)
	// Spellings are those of translate.Context, for each program that has Conditions.
	Spellings func(path string) []string
	// Clean removes secrets from texts that are shown.
	Clean func(string) string
}

// File is the hooks file of a project's folder, or with an empty one the user's
// own, which is also that of the home folder. inProject reports which it is.
func (s *Setup) File(project string) (path string, inProject bool, err error) {
	user, projects := hookfile.Files(s.Home, s.ClineDir, []string{project})
	switch {
	case len(projects) > 0:
		return projects[0], true, nil
	case user == "":
		return "", false, errors.New("no home folder is known, so there is no place for hooks.json: set HOME")
	}
	return user, false, nil
}

// ProjectFile is the hooks file of a project, named by its path or its folder's.
func (s *Setup) ProjectFile(name string) (string, error) {
	if name == "" {
		return "", errors.New("\"\": want a project's folder or its hooks.json")
	}
	dir, err := filepath.Abs(name)
	if err != nil {
		return "", fmt.Errorf("%q: %w", name, err)
	}
	file := hookfile.In("")
	if project := hookfile.ProjectOf(dir); filepath.Join(project, file) == dir {
		dir = project
	} else if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return "", fmt.Errorf("%q: a project's hooks for Cline are in its %s and nowhere else", name, file)
	}
	path, inProject, err := s.File(dir)
	if err == nil && !inProject {
		err = fmt.Errorf("%s is your own file: it needs no trust", path)
	}
	return path, err
}

// Sources are the files with hooks that count in a project, which may be empty.
func (s *Setup) Sources(project string) Sources {
	return s.find([]string{project})
}

// matching is a runner that finds the hooks for an event in a folder of a project.
func (s *Setup) matching(dir, project string) *hookrun.Runner {
	return &hookrun.Runner{Dir: dir, ProjectDir: project, Home: s.Home, GOOS: s.GOOS, Conditions: s.Conditions, Host: s.Host}
}

// Check lists what in a file with hooks will not work, without secrets. project is
// the folder of the project that the hooks belong to, empty for the user's own.
// others are the other files that count.
func (s *Setup) Check(f *hookfile.File, project string, others Sources) []hookfile.Problem {
	place := hookfile.Place{Project: project, Home: s.Home, GOOS: s.GOOS, Path: s.Path, Tools: translate.ToolNames()}
	if sh, err := filepath.EvalSymlinks("/bin/sh"); err == nil {
		place.Shell = filepath.Base(sh)
	}
	if s.GOOS == "darwin" {
		place.Shell = "bash" // which macOS installs as sh
	}
	for _, kv := range others.Environ(nil) {
		name, value, _ := strings.Cut(kv, "=")
		place.Env = append([]hookfile.Variable{{Name: name, Value: value}}, place.Env...)
	}
	list := s.Faults(f, place)
	for i := range list {
		list[i].Text = s.Clean(list[i].Text)
	}
	return list
}

// CheckSource is Check for one of the files that count.
func (s *Setup) CheckSource(src Source, all Sources) []hookfile.Problem {
	project := ""
	if src.Project {
		project = hookfile.ProjectOf(src.Path)
	}
	return s.Check(src.File, project, all)
}

// CheckNew is Check for a hook that is in no file yet. A hook that would not run is
// an error.
func (s *Setup) CheckNew(h hookfile.Handler, project string) ([]hookfile.Problem, error) {
	text, _, err := hookfile.Add(nil, h)
	if err != nil {
		return nil, err
	}
	f, err := hookfile.Parse("", text)
	if err != nil {
		return nil, err
	}
	if len(f.Handlers) == 0 && len(f.Problems) > 0 {
		return nil, fmt.Errorf("the hook would not run: %s", f.Problems[0].Text)
	}
	return s.Check(f, project, s.Sources(project)), nil
}

// HasGuard reports a hook that runs before tool calls.
func HasGuard(handlers []hookfile.Handler) bool {
	return slices.ContainsFunc(handlers, func(h hookfile.Handler) bool { return h.Event == "PreToolUse" })
}

// Guards are the folders of projects that have a hook that runs before tool calls;
// an empty name is the user's own file.
type Guards map[string]bool

// Guards finds the guards. Of a project's file that the user trusts, or did before
// it changed, every guard counts: it may run again. So does a file that cannot be
// read, which may hold one.
func (s *Setup) Guards() Guards {
	out := Guards{}
	add := func(project string) {
		for _, src := range s.Sources(project) {
			if src.Project == (project != "") && (src.File == nil || HasGuard(src.File.Handlers)) {
				out[project] = true
			}
		}
	}
	add("")
	for _, f := range s.Trust.List() {
		add(hookfile.ProjectOf(f.Path))
	}
	return out
}

// Need reports that a guard needs PreToolUse in the hook folders of a project, or
// with an empty name in those of the user, which count in all projects.
func (g Guards) Need(project string) bool {
	return g[""] || g[project] || project == "" && len(g) > 0
}
