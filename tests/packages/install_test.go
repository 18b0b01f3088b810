package packages_test

import (
	"archive/zip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	modzip "golang.org/x/mod/zip"

	"github.com/hookspan/hookspan/tests/internal/built"
)

// TestInstallsFromTheModule: "go install ...@version" takes the module's zip, in which
// modules below it and what git ignores are not, and refuses a go.mod with a replace.
func TestInstallsFromTheModule(t *testing.T) {
	root, err := built.Root()
	if err != nil {
		t.Fatal(err)
	}
	version := module.Version{Path: "github.com/hookspan/hookspan", Version: "v0.0.1"}
	proxy, bin := t.TempDir(), t.TempDir()
	folder := filepath.Join(proxy, filepath.FromSlash(version.Path), "@v")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(folder, version.Version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	checkout := filepath.Join(t.TempDir(), "checkout") // without what a build left here
	if out, err := exec.CommandContext(t.Context(), "git", "clone", "--quiet", "--depth", "1", "file://"+root, checkout).CombinedOutput(); err != nil {
		t.Fatalf("git clone: %v\n%s", err, out)
	}
	if err := modzip.CreateFromDir(file, version, checkout); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		version.Version + ".mod": zipped(t, file.Name(), "go.mod"), version.Version + ".info": `{"Version":"` + version.Version + `"}`,
		"list": version.Version + "\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cache, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "install", "-trimpath", "-modcacherw", version.Path+"/cmd/...@"+version.Version)
	cmd.Dir = t.TempDir() // in no module
	cmd.Env = append(os.Environ(), "GOBIN="+bin, "GOMODCACHE="+t.TempDir(), "GOFLAGS=", "GOSUMDB=off", "CGO_ENABLED=0",
		"GOPROXY=file://"+proxy+",file://"+filepath.Join(strings.TrimSpace(string(cache)), "cache", "download"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go install: %v\n%s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), built.Program(bin, "hookspan"), "version").CombinedOutput() //nolint:gosec // built above
	if err != nil || !strings.Contains(string(out), version.Version) {
		t.Errorf("hookspan version says %q (%v), want %s", out, err, version.Version)
	}
	for _, name := range []string{"cline-hook", "claude-hook", "hook-runner"} {
		if _, err := os.Stat(built.Program(bin, name)); err != nil {
			t.Error(err)
		}
	}
}

// zipped returns a file of a module's zip.
func zipped(t *testing.T, archive, name string) string {
	t.Helper()
	r, err := zip.OpenReader(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	for _, f := range r.File {
		if _, rest, _ := strings.Cut(f.Name, "@"); rest != "" && strings.HasSuffix(rest, "/"+name) && strings.Count(rest, "/") == 1 {
			text := make([]byte, f.UncompressedSize64)
			in, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(in, text); err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
	}
	t.Fatalf("%s has no %s", archive, name)
	return ""
}
