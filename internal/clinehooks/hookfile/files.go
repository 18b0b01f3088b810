package hookfile

import (
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Name is the name of a hooks file.
const Name = "hooks.json"

// Files names the hooks files: the user's, and one for each workspace root. None
// of them need exist. clineDir is the value of CLINE_DIR, which moves the user's
// ~/.cline; if empty, it is there. The user's file is empty where neither is
// known. Roots that are not absolute have no file. A file is named once, so that a
// root that is the home folder has none of its own, unless CLINE_DIR is set.
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

// samePath compares clean paths as the system does.
func samePath(a, b string) bool {
	if runtime.GOOS == "windows" {
		return strings.EqualFold(a, b)
	}
	return a == b
}
