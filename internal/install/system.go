package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/hookspan/hookspan/internal/regular"
)

// System is the machine whose hook folders are edited. Files are the real ones
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
	// DocumentsDir asks the system for the user's documents folder. An empty
	// answer means that there is none besides Home/Documents. If nil, it is
	// taken to be so.
	DocumentsDir func(context.Context) (string, error)
	// ClaudeVersion asks Claude Code for its version, in the words of
	// "claude --version". An empty answer means that it is not known. If nil,
	// it is not.
	ClaudeVersion func(context.Context) (string, error)
	// ClaudeManagedDir is the folder of the settings that an organisation sets
	// for Claude Code. If empty, none are looked at.
	ClaudeManagedDir string
}

// Options say what to install.
type Options struct {
	// Binary is the absolute path of cline-hook.
	Binary string
	// PreToolUse puts the PreToolUse hook into every folder, also those that
	// the classic dialect reads; the package comment says what that costs there.
	PreToolUse bool
	// ForHooks says that PreToolUse is there for the user's hooks alone, so that
	// it can go when none needs it any more; see PlanWithoutHooks.
	ForHooks bool
	// Chain moves a file of the user's that is in the way aside and has the
	// hook process run it too.
	Chain bool
	// Force rewrites hook files of ours that were edited since. It never
	// touches a file without the marker.
	Force bool
	// Workspace is the absolute path of a project. If set, hooks go into that
	// project's folders in place of the user's.
	Workspace string
}

// Role says who reads a folder.
type Role string

// The roles of a folder.
const (
	// RoleShared is a folder every dialect reads.
	RoleShared Role = "shared"
	// RoleEditors is a folder that classic and next read and sdk does not.
	RoleEditors Role = "editors"
	// RoleSDK is a folder that sdk alone reads, and that PreToolUse goes into.
	RoleSDK Role = "sdk"
	// RoleSDKDocuments is ~/Documents/Cline/Hooks where the system's documents
	// folder is another one: sdk alone reads it.
	RoleSDKDocuments Role = "sdk-documents"
)

// editors reports that Cline in editors reads folders of this role.
func (r Role) editors() bool { return r == RoleShared || r == RoleEditors }

// Folder is a folder Cline reads hooks from.
type Folder struct {
	// Path is absolute.
	Path string
	// Role says who reads it.
	Role Role

	// workspace is the project that the folder belongs to; empty for the user's.
	workspace string
}

// Readers names the programs that read the folder, for people.
func (f Folder) Readers() string {
	switch f.Role {
	case RoleSDK, RoleSDKDocuments:
		return "read by the Cline CLI 3 and programs on the Cline SDK"
	case RoleEditors:
		return "read by Cline in editors and by the Cline CLI 2"
	default:
		return "read by every Cline"
	}
}

// hookEvent is one hook Cline knows.
type hookEvent struct {
	name string
	// sdkOnly events are unknown to classic and next.
	sdkOnly bool
}

// preToolUse is the event that stands apart, see the package comment.
const preToolUse = "PreToolUse"

// hookEvents lists Cline's hooks in the order of a task's life.
func hookEvents() []hookEvent {
	return []hookEvent{
		{name: "TaskStart"},
		{name: "TaskResume"},
		{name: "UserPromptSubmit"},
		{name: preToolUse},
		{name: "PostToolUse"},
		{name: "PreCompact"},
		{name: "Notification"},
		{name: "TaskComplete"},
		{name: "TaskCancel"},
		{name: "TaskError", sdkOnly: true},
		{name: "SessionShutdown", sdkOnly: true},
	}
}

// getenv is Getenv with its zero value filled in.
func (s System) getenv(name string) string {
	if s.Getenv == nil {
		return ""
	}
	return strings.TrimSpace(s.Getenv(name))
}

// clineDir is Cline's own folder.
func (s System) clineDir() string {
	if dir := s.getenv("CLINE_DIR"); dir != "" {
		return dir
	}
	return filepath.Join(s.Home, ".cline")
}

// clineDataDir is where Cline's programs keep their settings.
func (s System) clineDataDir() string {
	if dir := s.getenv("CLINE_DATA_DIR"); dir != "" {
		return dir
	}
	return filepath.Join(s.clineDir(), "data")
}

// folders lists the folders to install into, those with the fewest readers
// last, and what there is to say about them.
func (s System) folders(ctx context.Context, workspace string) ([]Folder, []string, error) {
	var list []Folder
	var warnings []string
	if workspace != "" {
		if !filepath.IsAbs(workspace) {
			return nil, nil, fmt.Errorf("project folder %q: want an absolute path", workspace)
		}
		if info, err := os.Stat(workspace); err != nil {
			return nil, nil, fmt.Errorf("project folder %q: %w", workspace, err)
		} else if !info.IsDir() {
			return nil, nil, fmt.Errorf("project folder %q: not a folder: name the project's root folder", workspace)
		}
		list = []Folder{
			{Path: filepath.Join(workspace, ".clinerules", "hooks"), Role: RoleShared, workspace: workspace},
			{Path: filepath.Join(workspace, ".cline", "hooks"), Role: RoleSDK, workspace: workspace},
		}
	} else {
		if !filepath.IsAbs(s.Home) {
			return nil, nil, fmt.Errorf("home folder %q: want an absolute path: set HOME", s.Home)
		}
		documents := filepath.Join(s.Home, "Documents")
		role := RoleShared
		other, err := s.documents(ctx)
		if err != nil {
			warnings = append(warnings, fmt.Sprintf(
				"the system did not say where the documents folder is (%v); if it is not %q, Cline in editors does not see these hooks", err, documents))
		}
		elsewhere := other != "" && filepath.Clean(other) != documents
		if elsewhere {
			role = RoleSDKDocuments
		}
		list = append(list, Folder{Path: filepath.Join(documents, "Cline", "Hooks"), Role: role})
		if elsewhere {
			list = append(list, Folder{Path: filepath.Join(other, "Cline", "Hooks"), Role: RoleEditors})
		}
		list = append(list, Folder{Path: filepath.Join(s.clineDir(), "hooks"), Role: RoleSDK})
	}
	distinct, more, err := mergeSame(list)
	return distinct, append(warnings, more...), err
}

func (s System) documents(ctx context.Context) (string, error) {
	if s.DocumentsDir == nil {
		return "", nil
	}
	dir, err := s.DocumentsDir(ctx)
	if err != nil {
		return "", err
	}
	if dir != "" && !filepath.IsAbs(dir) {
		return "", fmt.Errorf("documents folder %q is not an absolute path", dir)
	}
	return dir, nil
}

// mergeSame drops a folder that is another one by a symbolic link, since a hook
// in it would be in both. The first of the two has the more readers, or gets those
// of the other.
func mergeSame(list []Folder) ([]Folder, []string, error) {
	var out []Folder
	var warnings []string
	seen := map[string]int{}
	for _, f := range list {
		if !filepath.IsAbs(f.Path) {
			return nil, nil, fmt.Errorf("hook folder %q: want an absolute path: check CLINE_DIR", f.Path)
		}
		target, err := resolve(f.Path)
		if err != nil {
			return nil, nil, err
		}
		if i, ok := seen[target]; ok {
			if f.Role == RoleEditors {
				out[i].Role = RoleShared
			}
			warnings = append(warnings, fmt.Sprintf("%q and %q are one folder; its hooks are installed once", f.Path, out[i].Path))
			continue
		}
		if target != filepath.Clean(f.Path) && isLink(f.Path) {
			warnings = append(warnings, fmt.Sprintf("%q is a symbolic link; the hooks go to %q", f.Path, target))
		}
		seen[target] = len(out)
		out = append(out, f)
	}
	return out, warnings, nil
}

func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// resolve follows the symbolic links of path as far as it exists. A link to
// nothing and a file in a folder's place are errors that name the culprit.
func resolve(path string) (string, error) {
	rest := ""
	for at := filepath.Clean(path); ; at = filepath.Dir(at) {
		_, err := os.Lstat(at)
		switch {
		case err == nil:
			target, err := filepath.EvalSymlinks(at)
			if errors.Is(err, fs.ErrNotExist) {
				return "", fmt.Errorf("hook folder %q: the symbolic link %q points to nothing: create its target or remove the link", path, at)
			}
			if err != nil {
				return "", fmt.Errorf("hook folder %q: %w", path, err)
			}
			info, err := os.Stat(target)
			if err != nil {
				return "", fmt.Errorf("hook folder %q: %w", path, err)
			}
			if !info.IsDir() {
				return "", fmt.Errorf("hook folder %q: %q is a file, want a folder: move the file away", path, at)
			}
			return filepath.Join(target, rest), nil
		case !errors.Is(err, fs.ErrNotExist) && !isNotDir(err):
			return "", fmt.Errorf("hook folder %q: %w", path, err)
		case at == filepath.Dir(at):
			return filepath.Clean(path), nil
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
}

// maxStateBytes bounds what is read of Cline's own settings.
const maxStateBytes = 64 << 20

// hooksOff reports that Cline's own settings switch hooks off, and the file
// that says so. Editors built on VS Code keep theirs in a database of their
// own, which is not looked at.
func (s System) hooksOff() (string, bool) {
	path := filepath.Join(s.clineDataDir(), "globalState.json")
	data, err := regular.Read(path, regular.Options{Max: maxStateBytes})
	if err != nil {
		return "", false
	}
	var state struct {
		HooksEnabled *bool `json:"hooksEnabled"`
	}
	if json.Unmarshal(data, &state) != nil || state.HooksEnabled == nil {
		return "", false
	}
	return path, !*state.HooksEnabled
}

// checkBinary refuses a program that hooks could not start. name is the one
// that is wanted.
func (s System) checkBinary(path, name string) error {
	switch {
	case path == "":
		return fmt.Errorf("hook program: no path given, want the absolute path of %s", name)
	case !filepath.IsAbs(path):
		return fmt.Errorf("hook program %q: want an absolute path: hooks are started in the project's folder", path)
	case strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return fmt.Errorf("hook program %q: the path holds a control character: install hookspan elsewhere", path)
	case !utf8.ValidString(path):
		// JSON settings cannot name it.
		return fmt.Errorf("hook program %q: the path is no UTF-8: install hookspan elsewhere", path)
	}
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
