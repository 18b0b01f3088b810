package cline

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/files/regular"
	"github.com/hookspan/hookspan/internal/install"
)

// The roles of a folder say who reads it.
const (
	// RoleShared is a folder every dialect reads.
	RoleShared = "shared"
	// RoleEditors is a folder that classic and next read and sdk does not.
	RoleEditors = "editors"
	// RoleSDK is a folder that sdk alone reads, and that PreToolUse goes into.
	RoleSDK = "sdk"
	// RoleSDKDocuments is ~/Documents/Cline/Hooks where the system's documents
	// folder is another one: sdk alone reads it.
	RoleSDKDocuments = "sdk-documents"
)

// readers names the programs that read a folder, for people.
func readers(role string) string {
	switch role {
	case RoleSDK, RoleSDKDocuments:
		return "read by the Cline CLI 3 and programs on the Cline SDK"
	case RoleEditors:
		return "read by Cline in editors and by the Cline CLI 2"
	default:
		return "read by every Cline"
	}
}

// throughLink refuses a project's folder that is reached through a link.
func throughLink(f install.Place) error {
	if err := install.ThroughLink(f.Project, filepath.Join(f.Path, sidecarDir)); err != nil {
		return fmt.Errorf("hook folder %q: %w", f.Path, err)
	}
	return nil
}

// hookEvent is one hook Cline knows.
type hookEvent struct {
	name string
	// sdkOnly events are unknown to classic and next.
	sdkOnly bool
}

// preToolUse is treated differently, see the package comment.
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

// dirs are Cline's own folder and, in data, that with the settings of its programs.
func dirs(sys install.System) (own, data string) {
	named := hook.AgentOf(hook.HostCline).Folders
	own = cmp.Or(sys.Env(named[0]), filepath.Join(sys.Home, ".cline"))
	return own, cmp.Or(sys.Env(named[1]), filepath.Join(own, "data"))
}

// installedFolders joins the recorded folders and those that Cline reads now.
func (in Installer) installedFolders(ctx context.Context, sys install.System, m *install.Manifest, project string) ([]install.Place, []string, error) {
	var list []install.Place
	for _, r := range m.Folders {
		if project == "" || r.Workspace == project {
			list = append(list, r.Place())
		}
	}
	now, warnings, err := in.folders(ctx, sys, project)
	if err != nil {
		if len(list) == 0 {
			return nil, nil, err
		}
		warnings = append(warnings, err.Error())
	}
	for _, f := range now {
		if i := slices.IndexFunc(list, func(have install.Place) bool { return have.Path == f.Path }); i >= 0 {
			list[i].Kind = f.Kind // the readers may have changed since
		} else {
			list = append(list, f)
		}
	}
	for i := range list {
		list[i].Readers = readers(list[i].Kind)
	}
	return list, warnings, nil
}

// folders lists the folders to install into, those with the fewest readers
// last, and warnings about them.
func (in Installer) folders(ctx context.Context, sys install.System, project string) ([]install.Place, []string, error) {
	if project != "" {
		if err := install.CheckProject(project); err != nil {
			return nil, nil, err
		}
		return mergeSame([]install.Place{
			{Path: filepath.Join(project, ".clinerules", "hooks"), Kind: RoleShared, Project: project},
			{Path: filepath.Join(project, ".cline", "hooks"), Kind: RoleSDK, Project: project},
		})
	}
	if err := sys.CheckHome(); err != nil {
		return nil, nil, err
	}
	var warnings []string
	documents := filepath.Join(sys.Home, "Documents")
	other, err := in.documents(ctx, sys)
	if err != nil {
		warnings = append(warnings, fmt.Sprintf(
			"the system did not say where the documents folder is (%v); if it is not %q, Cline in editors does not see these hooks", err, documents))
	}
	list := []install.Place{{Path: filepath.Join(documents, "Cline", "Hooks"), Kind: RoleShared}}
	if other != "" && filepath.Clean(other) != documents {
		list[0].Kind = RoleSDKDocuments
		list = append(list, install.Place{Path: filepath.Join(other, "Cline", "Hooks"), Kind: RoleEditors})
	}
	own, _ := dirs(sys)
	list = append(list, install.Place{Path: filepath.Join(own, "hooks"), Kind: RoleSDK})
	distinct, more, err := mergeSame(list)
	return distinct, append(warnings, more...), err
}

// documents is the user's documents folder, or "" where the system has no other
// than ~/Documents.
func (in Installer) documents(ctx context.Context, sys install.System) (string, error) {
	ask := in.DocumentsDir
	if ask == nil {
		ask = systemDocuments(sys.GOOS)
	}
	if ask == nil {
		return "", nil
	}
	dir, err := ask(ctx)
	if err == nil && dir != "" && !filepath.IsAbs(dir) {
		return "", fmt.Errorf("documents folder %q is not an absolute path", dir)
	}
	return dir, err
}

// mergeSame drops a folder that is another one by a symbolic link, since a hook
// in it would be in both. The first of the two has the more readers, or gets those
// of the other.
func mergeSame(list []install.Place) ([]install.Place, []string, error) {
	var out []install.Place
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
			if f.Kind == RoleEditors {
				out[i].Kind = RoleShared
			}
			warnings = append(warnings, fmt.Sprintf("%q and %q are one folder; its hooks are installed once", f.Path, out[i].Path))
			continue
		}
		if target != filepath.Clean(f.Path) && install.IsLink(f.Path) {
			warnings = append(warnings, fmt.Sprintf("%q is a symbolic link; the hooks go to %q", f.Path, target))
		}
		seen[target] = len(out)
		out = append(out, f)
	}
	for i := range out {
		out[i].Readers = readers(out[i].Kind)
	}
	return out, warnings, nil
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
		case !errors.Is(err, fs.ErrNotExist) && !install.IsNotDir(err):
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
// with that setting. Editors built on VS Code keep theirs in a database, which is
// not read.
func hooksOff(sys install.System) (string, bool) {
	_, data := dirs(sys)
	path := filepath.Join(data, "globalState.json")
	text, err := regular.Read(path, regular.Options{Max: maxStateBytes})
	if err != nil {
		return "", false
	}
	var state struct {
		HooksEnabled *bool `json:"hooksEnabled"`
	}
	if json.Unmarshal(text, &state) != nil || state.HooksEnabled == nil {
		return "", false
	}
	return path, !*state.HooksEnabled
}
