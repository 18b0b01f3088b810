package hookfile

import (
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Name is the name of a hooks file.
const Name = "hooks.json"

// In is the hooks file of a project's folder, or of the home folder.
func In(folder string) string { return filepath.Join(folder, ".cline", Name) }

// Files names the hooks files: the user's, and one for each absolute workspace root.
// None of them need exist. clineDir is the value of CLINE_DIR, which moves the
// user's ~/.cline. The user's file is empty if neither is known. A file is named
// once: the home folder as a root has no second file, unless CLINE_DIR is set.
func Files(home, clineDir string, roots []string) (user string, projects []string) {
	switch {
	case clineDir != "":
		user = filepath.Join(clineDir, Name)
	case home != "":
		user = In(home)
	}
	for _, root := range roots {
		if !filepath.IsAbs(root) {
			continue
		}
		file := In(root)
		if samePath(file, user) || slices.ContainsFunc(projects, func(p string) bool { return samePath(p, file) }) {
			continue
		}
		projects = append(projects, file)
	}
	return user, projects
}

// Moved is the user's file in the home folder where CLINE_DIR names another one. It
// counts too: a variable may add a guard, and takes none away. Else it is empty.
func Moved(home, clineDir string) string {
	if file := In(home); clineDir != "" && home != "" && !samePath(file, filepath.Join(clineDir, Name)) {
		return file
	}
	return ""
}

// ProjectOf is the folder of the project that a hooks file belongs to.
func ProjectOf(path string) string { return filepath.Dir(filepath.Dir(path)) }

// samePath compares clean paths by the rules of the system.
func samePath(a, b string) bool {
	if runtime.GOOS == "windows" {
		return strings.EqualFold(a, b)
	}
	return a == b
}

// Place is where the hooks of a file run.
type Place struct {
	// Project is the folder of the project whose file it is, empty for the
	// user's own file, which is for all projects.
	Project string
	Home    string
	GOOS    string
	// Path is the PATH on which programs are looked for; if empty, none are.
	Path string
	// Shell is the name of the program that /bin/sh is, such as "dash"; if
	// empty, a shell that only knows POSIX.
	Shell string
	// Env are variables that other files give to these hooks.
	Env []Variable
	// Tools are the names of Cline's tools that matchers are tried against.
	Tools []string
	// Claude reports that Claude Code runs the hooks. What Cline lacks is then no
	// finding, nor is a name that is in no list: Claude Code has tools that Cline has
	// not.
	Claude bool
}
