package main

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestDoubtsAboutAProgram(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the paths are those of other systems")
	}
	a, _, _ := newTestApp(t)
	project := t.TempDir()
	for name, mode := range map[string]os.FileMode{"home.sh": 0o700, "plain.sh": 0o600} {
		if err := os.WriteFile(filepath.Join(a.home, name), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(project, "own.sh"), nil, 0o700); err != nil { //nolint:gosec // A program.
		t.Fatal(err)
	}
	const decides = "a hook that cannot be started decides nothing"
	plain := filepath.Join(a.home, "plain.sh")
	for _, tt := range []struct{ name, command, project, want string }{
		{"on the path", "jq .", "", ""},
		{"a home's", "~/home.sh --now", "", ""},
		{"whole path", filepath.Join(a.home, "home.sh"), "", ""},
		{"missing", "/no/such.sh x", "", "/no/such.sh: there is no such program yet, and " + decides},
		{"not executable", plain, "", plain + " is not executable, and " + decides + ": chmod +x " + plain},
		{"a folder", a.home, "", a.home + " is a folder, and " + decides},
		{"relative, for all projects", "./own.sh", "", "./own.sh is sought in the folder where Cline works: for a hook of all your projects write the whole path"},
		{"relative, for a project", "./own.sh", project, ""},
		{"relative and missing", "bin/x", project, filepath.Join(project, "bin/x") + ": there is no such program yet, and " + decides},
		{"left to the shell", `"$CLAUDE_PROJECT_DIR"/x.sh`, "", ""},
		{"behind a variable", "A=/x/y ./own.sh", "", ""},
		{"another's home", "~nobody/x.sh", "", ""},
		{"nothing", " ", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := a.doubtProgram(plainProgram(tt.command), tt.project); got != tt.want {
				t.Errorf("got %q\nwant %q", got, tt.want)
			}
		})
	}
}
