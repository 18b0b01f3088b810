package otelcol

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/hookspan/hookspan/tests/internal/built"
)

// Config is the path of a file of collector-config.
func Config(name string) (string, error) {
	root, err := built.Root()
	if err != nil {
		return "", err
	}
	path := filepath.Join(root, "collector-config", name)
	_, err = os.Stat(path)
	return path, err
}

// Build returns the path of the Collector: of the one that package built finds
// ready, else of one that it makes in the folder dir. The flags are those of
// "make collector", so that what that has compiled is taken from the cache of Go;
// without it the first build takes minutes.
func Build(ctx context.Context, dir string) (string, error) {
	if ready, err := built.Ready("hookspan-collector"); ready != "" || err != nil {
		return ready, err
	}
	root, err := built.Root()
	if err != nil {
		return "", err
	}
	path, err := filepath.Abs(built.Program(dir, "hookspan-collector"))
	if err != nil {
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
