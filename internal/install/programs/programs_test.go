package programs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// build makes a folder with the programs of a version.
func build(t *testing.T, goos, version string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		path := filepath.Join(dir, Folder{GOOS: goos}.file(name))
		if err := os.WriteFile(path, []byte(name+" "+version), 0o700); err != nil { //nolint:gosec // A program.
			t.Fatal(err)
		}
	}
	return dir
}

func inHome(t *testing.T) (Folder, string) {
	t.Helper()
	home := t.TempDir()
	f, err := Of(runtime.GOOS, home, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	return f, home
}

// holds checks that all copies are of one version.
func holds(t *testing.T, f Folder, version string) {
	t.Helper()
	if got, err := f.Version(); err != nil || got != version {
		t.Errorf("version %q (%v), want %q", got, err, version)
	}
	for _, name := range names {
		b, err := os.ReadFile(f.Program(name))
		if err != nil || string(b) != name+" "+version {
			t.Errorf("%s holds %q (%v), want version %s", name, b, err, version)
		}
	}
}

func TestOf(t *testing.T) {
	home := t.TempDir()
	other := t.TempDir()
	tests := []struct{ goos, variable, value, want string }{
		{"linux", "", "", filepath.Join(home, ".local/share/hookspan/bin/cline-hook")},
		{"linux", "XDG_DATA_HOME", other, filepath.Join(other, "hookspan/bin/cline-hook")},
		{"linux", "XDG_DATA_HOME", "relative", filepath.Join(home, ".local/share/hookspan/bin/cline-hook")},
		{"darwin", "XDG_DATA_HOME", other, filepath.Join(home, "Library/Application Support/hookspan/bin/cline-hook")},
		{"windows", "", "", filepath.Join(home, "AppData/Local/hookspan/bin/cline-hook.exe")},
		{"windows", "LOCALAPPDATA", other, filepath.Join(other, "hookspan/bin/cline-hook.exe")},
	}
	for _, tt := range tests {
		f, err := Of(tt.goos, home, func(name string) string {
			if name == tt.variable {
				return tt.value
			}
			return ""
		})
		if got := f.Program("cline-hook"); err != nil || got != tt.want {
			t.Errorf("%s with %s=%s: %q (%v), want %q", tt.goos, tt.variable, tt.value, got, err, tt.want)
		}
	}
	if f, err := Of("linux", "", func(string) string { return "" }); err == nil {
		t.Errorf("without a home folder: %q", f.Path)
	}
}

func TestInstallReplacesAndRemoveLeavesNothing(t *testing.T) {
	f, home := inHome(t)
	for _, version := range []string{"v0.1.0", "v0.2.0", "v0.1.0"} {
		from := build(t, f.GOOS, version)
		if changed, err := f.Install(t.Context(), from, version); err != nil || !changed {
			t.Fatalf("install %s: changed %v, %v", version, changed, err)
		}
		holds(t, f, version)
		if changed, err := f.Install(t.Context(), from, version); err != nil || changed {
			t.Errorf("a second install of %s: changed %v, %v", version, changed, err)
		}
		if err := os.RemoveAll(from); err != nil {
			t.Fatal(err)
		}
		holds(t, f, version)
	}
	if err := f.Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(home); err != nil || len(left) > 0 {
		t.Errorf("left after removal: %v (%v)", left, err)
	}
	if err := f.Remove(t.Context()); err != nil {
		t.Errorf("a second removal: %v", err)
	}
}

func TestInstallFromCopiesChangesNothing(t *testing.T) {
	f, _ := inHome(t)
	if _, err := f.Install(t.Context(), build(t, f.GOOS, "v0.1.0"), "v0.1.0"); err != nil {
		t.Fatal(err)
	}
	if changed, err := f.Install(t.Context(), f.Path, "v0.1.0"); err != nil || changed {
		t.Errorf("changed %v, %v", changed, err)
	}
	holds(t, f, "v0.1.0")
}

func TestInstallNeedsHookspan(t *testing.T) {
	f, home := inHome(t)
	from := build(t, f.GOOS, "v0.1.0")
	if err := os.Remove(filepath.Join(from, f.file("hookspan"))); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Install(t.Context(), from, "v0.1.0"); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "hookspan") {
		t.Errorf("error %v, want one that names the missing program", err)
	}
	if left, _ := os.ReadDir(home); len(left) > 0 {
		t.Errorf("written all the same: %v", left)
	}
}

func TestInterruptedReplacementIsFinished(t *testing.T) {
	f, _ := inHome(t)
	older, newer := build(t, f.GOOS, "v0.1.0"), build(t, f.GOOS, "v0.2.0")
	if _, err := f.Install(t.Context(), newer, "v0.2.0"); err != nil {
		t.Fatal(err)
	}
	// As a kill after the first program leaves it.
	if err := f.write(record{}); err != nil {
		t.Fatal(err)
	}
	if err := f.replace(filepath.Join(older, f.file("hookspan")), f.file("hookspan")); err != nil {
		t.Fatal(err)
	}
	if v, err := f.Version(); v != "" || err != nil {
		t.Errorf("version %q (%v) during a replacement, want none", v, err)
	}
	if changed, err := f.Refresh(t.Context(), older, "v0.1.0"); err != nil || !changed {
		t.Errorf("refresh: changed %v, %v", changed, err)
	}
	holds(t, f, "v0.1.0")
}

func TestRefresh(t *testing.T) {
	tests := map[string]struct{ have, run, want string }{
		"newer release":       {"v0.1.0", "v0.2.0", "v0.2.0"},
		"older release":       {"v0.2.0", "v0.1.0", "v0.2.0"},
		"same release":        {"v0.2.0", "v0.2.0", "v0.2.0"},
		"commit of a release": {"v0.2.0", "v0.2.0-4-gabcdef0", "v0.2.0"},
		"ten is above nine":   {"v0.9.0", "v0.10.0", "v0.10.0"},
		"no release":          {"v0.2.0", "devel", "v0.2.0"},
		"over no release":     {"devel", "v0.2.0", "devel"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f, _ := inHome(t)
			if _, err := f.Install(t.Context(), build(t, f.GOOS, tt.have), tt.have); err != nil {
				t.Fatal(err)
			}
			changed, err := f.Refresh(t.Context(), build(t, f.GOOS, tt.run), tt.run)
			if err != nil || changed != (tt.want != tt.have) {
				t.Errorf("changed %v, %v", changed, err)
			}
			holds(t, f, tt.want)
		})
	}
	t.Run("without copies", func(t *testing.T) {
		f, home := inHome(t)
		if changed, err := f.Refresh(t.Context(), build(t, f.GOOS, "v0.2.0"), "v0.2.0"); err != nil || changed {
			t.Errorf("changed %v, %v", changed, err)
		}
		if left, _ := os.ReadDir(home); len(left) > 0 {
			t.Errorf("written: %v", left)
		}
	})
}

func TestNewerComparesCandidates(t *testing.T) {
	// In the order of their release.
	versions := []string{
		"v0.1.9", "v0.2.0-alpha", "v0.2.0-alpha.1", "v0.2.0-beta", "v0.2.0-rc.1", "v0.2.0-rc.2", "v0.2.0-rc.10", "v0.2.0", "v0.2.1-rc.1",
	}
	for i, a := range versions {
		for j, b := range versions {
			if got := Newer(a, b); got != (i > j) {
				t.Errorf("%s newer than %s: %t", a, b, got)
			}
		}
	}
	for _, same := range [][2]string{{"v0.1.0-5-gabcdef0", "v0.1.0"}, {"v0.1.0", "v0.1.0-5-gabcdef0-dirty"}, {"v0.2.0-rc.1-3-g0a1b2c3", "v0.2.0-rc.1"}, {"v0.1.0-dirty", "v0.1.0+x"}} {
		if Newer(same[0], same[1]) || Newer(same[1], same[0]) {
			t.Errorf("%q are of different releases", same)
		}
	}
}

// Remove leaves a folder of the user's that links to another place, and takes what a
// removal that was killed has left.
func TestRemoveOfFolders(t *testing.T) {
	for name, before := range map[string]func(t *testing.T, f Folder){
		"a link": func(t *testing.T, f Folder) {
			if err := os.MkdirAll(filepath.Dir(filepath.Dir(f.Path)), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(t.TempDir(), filepath.Dir(f.Path)); err != nil {
				t.Fatal(err)
			}
		},
		"a removal that was killed": func(t *testing.T, f Folder) {
			if err := os.MkdirAll(filepath.Dir(f.Path), 0o700); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, _ := inHome(t)
			before(t, f)
			if name == "a link" {
				if _, err := f.Install(t.Context(), build(t, f.GOOS, "1"), "1"); err != nil {
					t.Fatal(err)
				}
			}
			if err := f.Remove(t.Context()); err != nil {
				t.Fatal(err)
			}
			_, err := os.Lstat(filepath.Dir(f.Path))
			if left := err == nil; left != (name == "a link") {
				t.Errorf("%q: there is %v after the removal", filepath.Dir(f.Path), left)
			}
			if _, err := os.Lstat(f.Path); err == nil {
				t.Errorf("%q is left", f.Path)
			}
		})
	}
}
