package install

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// errThroughLink reports a place in a project that is reached through a link.
var errThroughLink = errors.New("is a symbolic link, which in a project could lead anywhere: nothing is written through it; put a real one in its place")

// inProject is throughLink for a hook folder and what is kept in it.
func inProject(project, folder string) error {
	if err := throughLink(project, filepath.Join(folder, sidecarDir)); err != nil {
		return fmt.Errorf("hook folder %q: %w", folder, err)
	}
	return nil
}

// throughLink refuses a place below a project's folder that is reached through a
// link, whether it exists or not: the project's author made that link, and not
// the user. The way to the project is the user's.
func throughLink(project, path string) error {
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
		case errors.Is(err, fs.ErrNotExist) || isNotDir(err):
			return nil
		case err != nil:
			return err
		case info.Mode()&fs.ModeSymlink != 0:
			return fmt.Errorf("%q %w", at, errThroughLink)
		}
	}
	return nil
}
