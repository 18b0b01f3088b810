//go:build !windows

package lookpath_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/lookpath"
)

// program writes a program named tool into a folder and returns the folder.
func program(t *testing.T, dir string, mode os.FileMode) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "tool"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, mode); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestFoldersThatAreNotTrustedArePassedOver(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	repo := filepath.Join(home, "src", "repo")
	for _, dir := range []string{filepath.Join(repo, ".git"), filepath.Join(repo, "pkg")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	good := program(t, filepath.Join(home, "bin"), 0o755)
	link := filepath.Join(home, "link")
	if err := os.Symlink(program(t, filepath.Join(repo, "tools"), 0o755), link); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ dir, entry, reason string }{
		"the working tree":           {filepath.Join(repo, "pkg"), program(t, filepath.Join(repo, "bin"), 0o755), "working tree"},
		"a link into it":             {repo, link, "working tree"},
		"a folder without a tree":    {program(t, filepath.Join(home, "plain"), 0o755), filepath.Join(home, "plain"), "working tree"},
		"node_modules elsewhere":     {home, program(t, filepath.Join(home, "app", "node_modules", ".bin"), 0o755), "node_modules"},
		"writable by all":            {home, program(t, filepath.Join(home, "shared"), 0o777), "every user can write"},
		"writable by all and sticky": {home, program(t, filepath.Join(home, "sticky"), 0o777|os.ModeSticky), "every user can write"},
		"a relative entry":           {repo, "bin", ""},
		"an empty entry":             {repo, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := lookpath.Finder{Path: tt.entry + ":" + good, Dir: tt.dir, Home: home}
			path, passed, err := f.Find("tool")
			if want := filepath.Join(good, "tool"); err != nil || path != want {
				t.Errorf("found %q, %v, want %s", path, err, want)
			}
			if tt.reason != "" && (len(passed) != 1 || !strings.Contains(passed[0].Reason, tt.reason)) {
				t.Errorf("passed over %v, want one: %s", passed, tt.reason)
			}
			if f.Trusted() != good {
				t.Errorf("trusted %q, want %s alone", f.Trusted(), good)
			}
			f.Path = tt.entry
			if _, _, err := f.Find("tool"); !errors.Is(err, exec.ErrNotFound) {
				t.Errorf("alone in PATH: %v, want %v", err, exec.ErrNotFound)
			}
		})
	}
	for name, dir := range map[string]string{"home": home, "above home": filepath.Dir(home), "unknown": "", "elsewhere": repo} {
		if path, _, err := (lookpath.Finder{Path: good, Dir: dir, Home: home}).Find("tool"); err != nil || filepath.Dir(path) != good {
			t.Errorf("from %s: found %q, %v", name, path, err)
		}
	}
	if _, _, err := (lookpath.Finder{Path: good}).Find("../bin/tool"); err == nil {
		t.Error("a path was taken for a name")
	}
}
