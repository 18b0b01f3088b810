package install

import (
	"cmp"
	"context"
	"fmt"
	"os"
	pathpkg "path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// Installer installs the hooks of one agent. Planning and Status write nothing.
type Installer interface {
	// Plan plans an installation.
	Plan(context.Context, System, Options) (*Plan, error)
	// PlanUninstall plans to undo every installation that o selects: those in the
	// install record and those found where the agent looks now.
	PlanUninstall(ctx context.Context, sys System, o Options) (*Plan, error)
	// Status reports the state of the agent's hooks. It fails only when it cannot
	// find out where to look.
	Status(ctx context.Context, sys System, o Options) (*Report, error)
}

// System is the machine on which hooks are installed. Files are the real ones
// below Home; everything else that differs from machine to machine comes in
// here.
type System struct {
	// GOOS is the operating system in Go's spelling. It decides the form of
	// the hook files: PowerShell on "windows", POSIX shell elsewhere.
	GOOS string
	// Home is the user's home folder, an absolute path.
	Home string
	// StateDir is hookspan's state folder, where install.json records which
	// folders installing created. If empty, nothing is recorded, and
	// uninstalling leaves empty folders behind.
	StateDir string
	// Getenv reads the environment. If nil, no variable is set.
	Getenv func(string) string
}

// Options say what to install or uninstall.
type Options struct {
	// Binary is the absolute path of the agent's hook program. For a status it is
	// the program that hooks should start; if empty, any program is right.
	Binary string
	// Source is the program that the caller copies to Binary before the plan is
	// applied. If empty, Binary is there already.
	Source string
	// Project is the absolute path of a project. Hooks go into its places instead
	// of the user's, and an uninstall or status is limited to them.
	Project string
	// Dir is the absolute path of the working directory. With a Scope and without a Project
	// it is the project. With neither, an uninstall or status includes its files.
	Dir string
	// Ask has a status compare the hooks with the agent's version, for which it asks the
	// agent even if nothing else needs it.
	Ask bool
	// Force rewrites hookspan's hooks that were edited. It never touches a
	// file without hookspan's marker.
	Force bool

	// PreToolUse puts Cline's PreToolUse hook into every folder, including those
	// that the classic dialect reads; the package comment says what that costs.
	PreToolUse bool
	// ForHooks says that PreToolUse is installed only for the user's hooks, so
	// that it can be removed when none needs it any more.
	ForHooks bool
	// Chain moves a hook of the user's that is in the way aside and has the hook
	// process run it too. For Cline only.
	Chain bool

	// Scope selects one of the agent's places, for agents with scopes. If empty, an
	// install goes into the project's or without Project the user's, and an uninstall
	// includes all.
	Scope string
}

// The values of Options.Scope. An agent adds up the hooks of all scopes that it has.
const (
	// ScopeUser is the user's own settings or folder, read in every project.
	ScopeUser = "user"
	// ScopeProject is a project's, which its users share.
	ScopeProject = "project"
	// ScopeLocal is the user's own settings for one project.
	ScopeLocal = "local"
	// ScopeManaged is an organisation's settings, which administrators write for everybody
	// on the machine. They are in no install record: the files say all.
	ScopeManaged = "managed"
)

// Command describes a command of the command line.
type Command struct {
	// Short says in a line what the command does, Long explains it.
	Short, Long string
	// Flags explains the flags that set Options, by their names. One without a text is
	// hidden.
	Flags map[string]string
}

// OptionError reports options that are wrong or do not go together.
type OptionError struct{ error }

// Optionf returns an OptionError.
func Optionf(format string, args ...any) error { return OptionError{fmt.Errorf(format, args...)} }

// ShellWord makes a word of a POSIX shell of any text without NUL.
func ShellWord(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// Env returns a variable's trimmed value.
func (s System) Env(name string) string {
	if s.Getenv == nil {
		return ""
	}
	return strings.TrimSpace(s.Getenv(name))
}

// programsFolder is the end of the path of a user's folder with copies of hookspan's
// programs, which hooks start: see programs.Of.
const programsFolder = "hookspan/bin"

// IsProgram reports that the program of a hook in a settings file is hookspan's: the one
// to install, one that an earlier install recorded, or one in a folder of copies. That
// may be of another home, from which the settings came.
func (s System) IsProgram(path string, o Options, rec *Record) bool {
	same := func(other string) bool { return s.onePath(path) == s.onePath(other) }
	return same(o.Binary) || rec != nil && slices.ContainsFunc(rec.Programs, same) ||
		strings.HasSuffix(pathpkg.Dir(s.onePath(path)), "/"+programsFolder)
}

// onePath gives all spellings of a program's path in settings one form.
func (s System) onePath(path string) string {
	if s.GOOS == "windows" {
		return strings.ToLower(strings.ReplaceAll(path, `\`, "/"))
	}
	return path
}

// CheckHome refuses a home folder without an absolute path.
func (s System) CheckHome() error {
	if !filepath.IsAbs(s.Home) {
		return fmt.Errorf("home folder %q: want an absolute path: set HOME", s.Home)
	}
	return nil
}

// CheckProject refuses a project that is not a folder with an absolute path.
func CheckProject(project string) error {
	if !filepath.IsAbs(project) {
		return fmt.Errorf("project folder %q: want an absolute path", project)
	}
	if info, err := os.Stat(project); err != nil {
		return fmt.Errorf("project folder %q: %w", project, err)
	} else if !info.IsDir() {
		return fmt.Errorf("project folder %q: not a folder: name the project's root folder", project)
	}
	return nil
}

// CheckBinary refuses a program that hooks could not start. name is the wanted
// program.
func (s System) CheckBinary(o Options, name string) error {
	path := o.Binary
	switch {
	case path == "":
		return fmt.Errorf("hook program: no path given, want the absolute path of %s", name)
	case !filepath.IsAbs(path):
		return fmt.Errorf("hook program %q: want an absolute path: hooks are started in the project's folder", path)
	case strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return fmt.Errorf("hook program %q: the path has a control character: install hookspan elsewhere", path)
	case !utf8.ValidString(path):
		// JSON settings cannot name it.
		return fmt.Errorf("hook program %q: the path is not UTF-8: install hookspan elsewhere", path)
	}
	path = cmp.Or(o.Source, path)
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("hook program %q: %w: install %s beside hookspan", path, err, name)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("hook program %q: not a regular file, want the %s program", path, name)
	}
	if s.GOOS != "windows" && info.Mode()&0o111 == 0 {
		return fmt.Errorf("hook program %q: mode %v, want it executable: chmod +x it", path, info.Mode().Perm())
	}
	return nil
}
