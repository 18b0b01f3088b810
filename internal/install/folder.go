package install

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ErrThroughLink reports a place in a project that is reached through a link.
var ErrThroughLink = errors.New("is a symbolic link, which in a project could lead anywhere: nothing is written through it; put a real one in its place")

// ThroughLink refuses a path below a project's folder that is reached through a
// link, whether it exists or not: the project's author made that link, not the
// user. Links in the path of the project itself are allowed, and everything is
// where project is empty.
func ThroughLink(project, path string) error {
	if project == "" {
		return nil
	}
	rel, err := filepath.Rel(project, path)
	if err != nil {
		return err
	}
	at := project
	for _, name := range strings.Split(rel, string(filepath.Separator)) {
		at = filepath.Join(at, name)
		info, err := os.Lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist) || IsNotDir(err):
			return nil
		case err != nil:
			return err
		case info.Mode()&fs.ModeSymlink != 0:
			return fmt.Errorf("%q %w", at, ErrThroughLink)
		}
	}
	return nil
}

// Writable refuses a folder that cannot be written to, or whose nearest existing
// parent cannot.
func Writable(dir string) error {
	at := dir
	if missing := MissingDirs(dir); len(missing) > 0 {
		at = filepath.Dir(missing[0])
	}
	if err := mayWrite(at); err != nil {
		return fmt.Errorf("cannot write to %q: %w: give yourself write permission, or remove the obstacle, and run it again", at, err)
	}
	return nil
}

// MissingDirs lists the folders that must be created for dir to exist,
// outermost first.
func MissingDirs(dir string) []string {
	var list []string
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		if _, err := os.Stat(at); err == nil || at == filepath.Dir(at) {
			slices.Reverse(list)
			return list
		}
		list = append(list, at)
	}
}

// FileExists reports that path exists, or that this cannot be found out.
func FileExists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// IsLink reports a symbolic link.
func IsLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}
