package backends

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/skip"
	"github.com/hookspan/hookspan/tests/internal/rig"
)

// python returns the Python of a virtual environment in the cache folder that has a package
// of PyPI. A file in the folder python has its version and those of what it needs; the
// folder's name has a hash of it, so that other versions are another installation.
func python(t *testing.T, name string) string {
	t.Helper()
	list, err := filepath.Abs(filepath.Join("python", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	cache, err := rig.DefaultCache()
	if err != nil {
		t.Fatal(err)
	}
	hash := sha256.Sum256(text)
	dir := filepath.Join(cache, name+"-"+hex.EncodeToString(hash[:8]))
	if _, err := os.Stat(dir); err != nil {
		environment(t, cache, dir, name, list)
	}
	return interpreter(dir)
}

func interpreter(dir string) string {
	if runtime.GOOS == "windows" {
		return filepath.Join(dir, "Scripts", "python.exe")
	}
	return filepath.Join(dir, "bin", "python3")
}

// environment makes a virtual environment in a separate folder and renames it into place.
// The scripts in it then have the wrong path, so modules are run by name.
func environment(t *testing.T, cache, dir, name, list string) {
	t.Helper()
	base, err := exec.LookPath("python3")
	if err != nil {
		skip.Missing(t, "no python3 on this machine: %v", err)
	}
	if err := os.MkdirAll(cache, 0o755); err != nil { //nolint:gosec // As the other programs' folder.
		t.Fatal(err)
	}
	work, err := os.MkdirTemp(cache, "."+filepath.Base(dir)+"-")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(work) }()
	pip := func(args ...string) ([]byte, error) {
		args = append([]string{"-m", "pip", "--quiet", "--disable-pip-version-check"}, args...)
		return exec.CommandContext(t.Context(), interpreter(work), append(args, "--only-binary", ":all:", "-c", list, name)...).CombinedOutput() //nolint:gosec // What the test names.
	}
	if out, err := exec.CommandContext(t.Context(), base, "-m", "venv", work).CombinedOutput(); err != nil { //nolint:gosec // The machine's Python.
		skip.Missing(t, "this Python makes no virtual environments: %v\n%s", err, out)
	}
	if out, err := pip("download", "--no-deps", "-d", t.TempDir()); err != nil {
		skip.Missing(t, "PyPI does not give %s: %v\n%s", name, err, out)
	}
	// The file constrains versions, since other systems need a few other packages.
	if out, err := pip("install"); err != nil {
		t.Fatalf("install %s: %v\n%s", name, err, out)
	}
	if err := os.Rename(work, dir); err != nil {
		if _, there := os.Stat(dir); there != nil {
			t.Fatal(err)
		}
	}
}

// build builds the program of the module in a folder: a Jaeger with its whole backend in one program, a
// Prometheus without service discovery, which is half of it.
func build(ctx context.Context, name, path, dir string) (string, error) {
	program := filepath.Join(dir, name)
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	cmd := exec.CommandContext(ctx, "go", "-C", name, "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-tags", "remove_all_sd", //nolint:gosec // Pinned by go.sum.
		"-o", program, path)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", path, err, out)
	}
	return program, nil
}
