package cline

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/skip"
	"github.com/hookspan/hookspan/internal/transcript"
)

func TestTasksAreFoundInEveryPlaceClineWrites(t *testing.T) {
	const ext = "saoudrizwan.claude-dev"
	mac := func(app string) []string {
		return []string{"Library", "Application Support", app, "User", "globalStorage", ext}
	}
	linux := func(app string) []string { return []string{".config", app, "User", "globalStorage", ext} }
	windows := func(app string) []string {
		return []string{"AppData", "Roaming", app, "User", "globalStorage", ext}
	}
	server := func(dir string) []string { return []string{dir, "data", "User", "globalStorage", ext} }

	type place struct {
		name string
		goos string
		// dir is the storage, below the home.
		dir []string
		// env are variables whose values are folders below the home.
		env map[string][]string
	}
	places := []place{
		{"nightly", "linux", []string{".config", "Code", "User", "globalStorage", "saoudrizwan.cline-nightly"}, nil},
		{
			"XDG_CONFIG_HOME", "linux",
			[]string{"xdg", "Code", "User", "globalStorage", ext},
			map[string][]string{"XDG_CONFIG_HOME": {"xdg"}},
		},
		{"default beside XDG_CONFIG_HOME", "linux", linux("Code"), map[string][]string{"XDG_CONFIG_HOME": {"xdg"}}},
		{"Flatpak", "linux", []string{".var", "app", "com.visualstudio.code", "config", "Code", "User", "globalStorage", ext}, nil},
		{"VS Code server", "linux", server(".vscode-server"), nil},
		{"VS Code Insiders server", "linux", server(".vscode-server-insiders"), nil},
		{"Cursor server", "linux", server(".cursor-server"), nil},
		{"Windsurf server", "linux", server(".windsurf-server"), nil},
		{"VSCodium server on a Mac", "darwin", server(".vscodium-server"), nil},
		{"server moved", "linux", server("srv"), map[string][]string{"VSCODE_AGENT_FOLDER": {"srv"}}},
		{"code-server", "linux", []string{".local", "share", "code-server", "User", "globalStorage", ext}, nil},
		{
			"code-server, XDG_DATA_HOME", "linux",
			[]string{"share", "code-server", "User", "globalStorage", ext},
			map[string][]string{"XDG_DATA_HOME": {"share"}},
		},
		{
			"portable", "windows",
			[]string{"stick", "user-data", "User", "globalStorage", ext},
			map[string][]string{"VSCODE_PORTABLE": {"stick"}},
		},
		{
			"APPDATA", "windows",
			[]string{"moved", "Code", "User", "globalStorage", ext},
			map[string][]string{"APPDATA": {"moved"}},
		},
		{"CLI 2, JetBrains", "linux", []string{".cline", "data"}, nil},
		{"CLI 2 on Windows", "windows", []string{".cline", "data"}, nil},
		{"CLINE_DIR", "linux", []string{"cl", "data"}, map[string][]string{"CLINE_DIR": {"cl"}}},
		{"default beside CLINE_DIR", "linux", []string{".cline", "data"}, map[string][]string{"CLINE_DIR": {"cl"}}},
	}
	for _, app := range []string{
		"Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf", "Trae", "Positron", "Kiro", "An Editor of 2031",
	} {
		places = append(places,
			place{app, "linux", linux(app), nil}, place{app, "darwin", mac(app), nil}, place{app, "windows", windows(app), nil})
	}
	for _, p := range places {
		t.Run(p.goos+"/"+p.name, func(t *testing.T) {
			f := newFinder(t)
			f.GOOS = p.goos
			f.Getenv = func(name string) string {
				if dir := p.env[name]; dir != nil {
					return filepath.Join(append([]string{f.Home}, dir...)...)
				}
				return ""
			}
			storage := filepath.Join(append([]string{f.Home}, p.dir...)...)
			copyDir(t, filepath.Join(storage, "tasks"), "cli2")
			tr, err := query(t.Context(), f, DialectClassic, cli2Task)
			if err != nil {
				t.Fatal(err)
			}
			if len(tr.Requests) != 6 {
				t.Errorf("%d calls, want 6", len(tr.Requests))
			}
			if want := filepath.Join(storage, "tasks", cli2Task, uiFile); tr.Sources[0] != want {
				t.Errorf("read %q, want %q", tr.Sources[0], want)
			}
		})
	}
}

func TestASettingsFolderMayBeALink(t *testing.T) {
	f := newFinder(t)
	storage := filepath.Join(f.Home, "dotfiles", "User", "globalStorage", "saoudrizwan.claude-dev", "tasks")
	copyDir(t, storage, "cli2")
	if err := os.MkdirAll(filepath.Join(f.Home, ".config"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(f.Home, "dotfiles"), filepath.Join(f.Home, ".config", "Code")); err != nil {
		skip.Missing(t, "this system makes no symbolic links: %v", err)
	}
	if _, err := os.Stat(filepath.Join(f.Home, ".config", "Code")); err != nil {
		skip.Missing(t, "symbolic links are not followed here: %v", err) // Wine
	}
	if _, err := query(t.Context(), f, DialectClassic, cli2Task); err != nil {
		t.Error(err)
	}
}

func TestSessionsAreFoundByClinesOrderOfPreference(t *testing.T) {
	for _, c := range []struct {
		name string
		dir  []string
		env  map[string][]string
	}{
		{"default", []string{".cline", "data", "sessions"}, nil},
		{"CLINE_DIR", []string{"c", "data", "sessions"}, map[string][]string{"CLINE_DIR": {"c"}}},
		{"CLINE_DATA_DIR", []string{"d", "sessions"}, map[string][]string{"CLINE_DIR": {"c"}, "CLINE_DATA_DIR": {"d"}}},
		{
			"CLINE_SESSION_DATA_DIR",
			[]string{"s"},
			map[string][]string{"CLINE_DIR": {"c"}, "CLINE_DATA_DIR": {"d"}, "CLINE_SESSION_DATA_DIR": {"s"}},
		},
		{"default beside the others", []string{".cline", "data", "sessions"}, map[string][]string{"CLINE_DATA_DIR": {"d"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFinder(t)
			f.Getenv = func(name string) string {
				if dir := c.env[name]; dir != nil {
					return filepath.Join(append([]string{f.Home}, dir...)...)
				}
				return ""
			}
			copyDir(t, filepath.Join(append([]string{f.Home}, c.dir...)...), "sdk/tools")
			tr, err := query(t.Context(), f, DialectSDK, "1795174957841_0jeru")
			if err != nil {
				t.Fatal(err)
			}
			if len(tr.Requests) != 7 {
				t.Errorf("%d calls, want 7", len(tr.Requests))
			}
		})
	}
}

func TestRelativePlacesAreNeverSearched(t *testing.T) {
	work := t.TempDir()
	copyDir(t, filepath.Join(work, "data", "tasks"), "cli2")
	copyDir(t, filepath.Join(work, ".cline", "data", "tasks"), "cli2")
	t.Chdir(work)
	f := &transcript.Files{Home: ".", Getenv: func(string) string { return "." }}
	if roots := append(classicRoots(f), sessionRoots(f)...); len(roots) != 0 {
		t.Errorf("roots %q depend on the working directory", roots)
	}
}
