package hookfile

import (
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFiles(t *testing.T) {
	base := t.TempDir()
	at := func(parts ...string) string { return filepath.Join(append([]string{base}, parts...)...) }
	home := at("home")
	own := at("home", ".cline", "hooks.json")
	tests := map[string]struct {
		home, clineDir string
		roots          []string
		user           string
		projects       []string
	}{
		"no root":                  {home, "", nil, own, nil},
		"two roots":                {home, "", []string{at("a"), at("b")}, own, []string{at("a", ".cline", "hooks.json"), at("b", ".cline", "hooks.json")}},
		"a root twice":             {home, "", []string{at("a"), at("a") + string(filepath.Separator), at("b", "..", "a")}, own, []string{at("a", ".cline", "hooks.json")}},
		"the home folder":          {home, "", []string{home, at("a")}, own, []string{at("a", ".cline", "hooks.json")}},
		"CLINE_DIR is set":         {home, at("moved"), []string{at("a")}, at("moved", "hooks.json"), []string{at("a", ".cline", "hooks.json")}},
		"CLINE_DIR is in the root": {home, at("a", ".cline"), []string{at("a")}, at("a", ".cline", "hooks.json"), nil},
		// The user's file is then elsewhere, and this one is a project's.
		"the home folder as a root, CLINE_DIR is set": {home, at("moved"), []string{home}, at("moved", "hooks.json"), []string{own}},
		"relative roots": {home, "", []string{"a", "", "."}, own, nil},
		"no home":        {"", "", []string{at("a")}, "", []string{at("a", ".cline", "hooks.json")}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			user, projects := Files(tt.home, tt.clineDir, tt.roots)
			if user != tt.user {
				t.Errorf("user's file %q, want %q", user, tt.user)
			}
			if diff := cmp.Diff(tt.projects, projects); diff != "" {
				t.Errorf("projects' files (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPathCaseFollowsSystem(t *testing.T) {
	root := t.TempDir()
	_, projects := Files("", "", []string{filepath.Join(root, "a"), filepath.Join(root, "A")})
	want := 2
	if runtime.GOOS == "windows" {
		want = 1
	}
	if len(projects) != want {
		t.Errorf("%s: %d files, want %d", strings.Join(projects, ", "), len(projects), want)
	}
}
