package hookfile

import (
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Name is the name of a hooks file.
const Name = "hooks.json"

// Files names the hooks files: the user's, and one for each absolute workspace root.
// None of them need exist. clineDir is the value of CLINE_DIR, which moves the
// user's ~/.cline. The user's file is empty if neither is known. A file is named
// once: the home folder as a root has no second file, unless CLINE_DIR is set.
func Files(home, clineDir string, roots []string) (user string, projects []string) {
	switch {
	case clineDir != "":
		user = filepath.Join(clineDir, Name)
	case home != "":
		user = filepath.Join(home, ".cline", Name)
	}
	for _, root := range roots {
		if !filepath.IsAbs(root) {
			continue
		}
		file := filepath.Join(root, ".cline", Name)
		if samePath(file, user) || slices.ContainsFunc(projects, func(p string) bool { return samePath(p, file) }) {
			continue
		}
		projects = append(projects, file)
	}
	return user, projects
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
