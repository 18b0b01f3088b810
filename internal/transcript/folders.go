package transcript

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/hook"
)

// Folders gathers the folders in which an agent's files may be, each once.
type Folders []string

// Add adds a folder given as Join takes it. An unknown one is left out.
func (d *Folders) Add(base string, rest ...string) {
	if dir := Join(base, rest...); dir != "" && !slices.Contains(*d, dir) {
		*d = append(*d, dir)
	}
}

// Roots returns the folders that may be the agent's: the one that its variable names, and the one
// in the home folder.
func (f *Files) Roots(host string) (r Folders) {
	a := hook.AgentOf(host)
	r.Add(f.Getenv(a.Folders[0]))
	r.Add(f.Home, a.Folder)
	return r
}

// NotFound returns the error for a session that none of the folders holds.
func (d Folders) NotFound(session, want string) error {
	places := "any place (no home directory is known)"
	if len(d) > 0 {
		places = strings.Join(d, ", ")
	}
	return fmt.Errorf("session %q: %w: no %s in %s", session, ErrNotFound, want, places)
}

// Join is filepath.Join, but empty if the base is unknown or relative: a path
// relative to our working directory is never one that an agent meant.
func Join(base string, rest ...string) string {
	if !filepath.IsAbs(base) {
		return ""
	}
	return filepath.Join(append([]string{base}, rest...)...)
}

// In returns the paths that files with some names have in folders.
func In(dirs []string, names ...string) (paths []string) {
	for _, dir := range dirs {
		for _, name := range names {
			paths = append(paths, filepath.Join(dir, name))
		}
	}
	return paths
}

// Within returns the folders in the folders with some names.
func Within(roots []string, names ...string) (dirs []string) {
	for _, dir := range In(roots, names...) {
		dirs = append(dirs, Subfolders(dir)...)
	}
	return dirs
}

// Subfolders returns the paths of the folders in a folder. There are none if it
// cannot be listed, which is usual for a place that this machine does not have.
func Subfolders(dir string) []string {
	if !filepath.IsAbs(dir) {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	paths := make([]string, 0, len(entries))
	for _, e := range entries {
		// Symbolic links are followed: settings folders often are one.
		if e.IsDir() || e.Type()&os.ModeSymlink != 0 {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths
}
