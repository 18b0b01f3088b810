// Package lookpath finds the programs that hookspan starts by name, such as a pager or
// an agent, in the folders of PATH that nobody but the user and root can fill.
//
// A project can be in PATH: npm puts its node_modules/.bin first, direnv and editors
// add its folders. What lies there may be the work of an agent or of a stranger, so it
// is passed over, as are folders that every user can write to and those of other users.
package lookpath

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Finder finds programs.
type Finder struct {
	// Path is the value of PATH, Dir the working folder and Home the user's home
	// folder. An empty Dir or Home is not known.
	Path, Dir, Home string
	// Environ is the environment of the programs that Command returns.
	Environ []string
}

// Here returns a Finder for this process.
func Here() Finder {
	dir, _ := os.Getwd()        // Without one no folder is known to be a project's.
	home, _ := os.UserHomeDir() // As above.
	return Finder{Path: os.Getenv("PATH"), Dir: dir, Home: home, Environ: os.Environ()}
}

// PassedOver is a program of the wanted name that is not used.
type PassedOver struct {
	// Path is the program's, Reason says why it is not used.
	Path, Reason string
}

// Find returns the absolute path of a program, and those of the name that it passed
// over. The error is exec.ErrNotFound where there is no other.
func (f Finder) Find(name string) (path string, passed []PassedOver, err error) {
	if strings.ContainsAny(name, `/\`) {
		return "", nil, &exec.Error{Name: name, Err: fmt.Errorf("found a path, want a name")}
	}
	root := f.project()
	for _, dir := range filepath.SplitList(f.Path) {
		if !filepath.IsAbs(dir) {
			continue // exec.LookPath refuses those, too
		}
		found, err := exec.LookPath(filepath.Join(dir, name))
		if err != nil {
			continue
		}
		if reason := distrust(dir, root); reason != "" {
			passed = append(passed, PassedOver{found, reason})
			continue
		}
		return found, passed, nil
	}
	return "", passed, &exec.Error{Name: name, Err: exec.ErrNotFound}
}

// Command is a command of a program that Find finds. The programs that it starts in turn
// do not see the folders that Find passes over.
func (f Finder) Command(ctx context.Context, name string, args ...string) (*exec.Cmd, error) {
	path, _, err := f.Find(name)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, path, args...) //nolint:gosec // A program of a trusted folder.
	cmd.Env = append(slices.Clone(f.Environ), "PATH="+f.Trusted())
	return cmd, nil
}

// Trusted is PATH with the folders alone that Find does not pass over.
func (f Finder) Trusted() string {
	root := f.project()
	dirs := slices.DeleteFunc(filepath.SplitList(f.Path), func(dir string) bool {
		return !filepath.IsAbs(dir) || distrust(dir, root) != ""
	})
	return strings.Join(dirs, string(os.PathListSeparator))
}

// project is the root of the working tree that Dir is in, or Dir itself outside of one.
// It is empty where that is the home folder, or a folder above it.
func (f Finder) project() string {
	if f.Dir == "" {
		return ""
	}
	dir, home := resolved(f.Dir), ""
	if f.Home != "" {
		home = resolved(f.Home)
	}
	for at := dir; !within(home, at); at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		if filepath.Dir(at) == at {
			break
		}
	}
	if within(home, dir) {
		return ""
	}
	return dir
}

// distrust says why no program of a folder is started, or returns "". root is the
// project's root folder, if any.
func distrust(dir, root string) string {
	dir = resolved(dir)
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return "it cannot be read"
	case strings.HasSuffix(filepath.ToSlash(dir), "node_modules/.bin"):
		return "it is in a project's node_modules"
	case within(dir, root) && !systems(info):
		return "it is in the working tree " + root
	}
	return others(info)
}

// systems reports a folder that only root can have filled, while this is another user.
func systems(info fs.FileInfo) bool {
	return os.Geteuid() > 0 && owner(info) == 0 && others(info) == ""
}

// within reports whether a path is a folder or below it.
func within(path, dir string) bool {
	if path == "" || dir == "" {
		return false
	}
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// resolved is a path without links, or as it was where it cannot be resolved.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return filepath.Clean(path)
}
