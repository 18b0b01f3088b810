package otelcol

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Root is the folder of the module, looked for from the working folder upwards.
func Root() (string, error) {
	wd, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := wd; ; dir = filepath.Dir(dir) {
		b, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(b), "module github.com/hookspan/hookspan\n") {
			return dir, nil
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no go.mod of github.com/hookspan/hookspan in %s or above: run this from within the module", wd)
		}
	}
}

// Config is the path of a file of collector-config.
func Config(name string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	path := filepath.Join(root, "collector-config", name)
	_, err = os.Stat(path)
	return path, err
}

// Build makes the Collector in the folder dir and returns its path. The flags
// are those of "make collector", so that what that has compiled is taken from the
// cache of Go; without it the first build takes minutes.
func Build(ctx context.Context, dir string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "hookspan-collector")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "-C", filepath.Join(root, "collector-config", "distribution"), //nolint:gosec // Our own module.
		"build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", path, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the Collector: %w\n%s", err, out)
	}
	return path, nil
}
