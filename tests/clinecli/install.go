package clinecli

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// CLI is a major version of Cline's command line program.
type CLI int

// The programs under test.
const (
	// CLI2 is cline 2.18.0, the classic core; it runs on node.
	CLI2 CLI = 2
	// CLI3 is cline 3.0.57, the SDK core; it is a native program.
	CLI3 CLI = 3
)

// String returns "cli2" or "cli3".
func (c CLI) String() string { return fmt.Sprintf("cli%d", int(c)) }

//go:embed npm/cli2/package.json npm/cli2/package-lock.json npm/cli3/package.json npm/cli3/package-lock.json
var manifests embed.FS

var manifestFiles = [...]string{"package.json", "package-lock.json"}

// ErrNoProgram is wrapped by errors of Install that mean "not on this machine":
// no node, no npm, or no build of the program for this platform.
var ErrNoProgram = errors.New("the Cline program is not available")

// DefaultCache is the folder the programs are installed in.
func DefaultCache() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache folder for the Cline programs: %w", err)
	}
	return filepath.Join(base, "hookspan-tests"), nil
}

// Install makes sure that the program is in the cache folder and returns the
// command that starts it. What is already there is not touched and costs no
// network. The folder's name holds a hash of the lock file, so that a new lock
// is a new installation.
//
// Several processes may install at once: each works in a folder of its own and
// renames it into place; the first one wins and the others drop theirs.
func Install(ctx context.Context, cache string, cli CLI) ([]string, error) {
	if cli == CLI3 && (runtime.GOOS != "linux" || runtime.GOARCH != "amd64") {
		return nil, fmt.Errorf("install %s: pinned for linux/amd64, this is %s/%s: %w", cli, runtime.GOOS, runtime.GOARCH, ErrNoProgram)
	}
	dir, err := installDir(cache, cli)
	if err != nil {
		return nil, err
	}
	cmd, err := command(dir, cli)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(dir); err == nil {
		return cmd, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for %s: %w", cli, err)
	}
	if err := install(ctx, dir, cli); err != nil {
		return nil, err
	}
	return cmd, nil
}

func installDir(cache string, cli CLI) (string, error) {
	h := sha256.New()
	for _, name := range manifestFiles {
		data, err := manifests.ReadFile("npm/" + cli.String() + "/" + name)
		if err != nil {
			return "", fmt.Errorf("read the manifest of %s: %w", cli, err)
		}
		h.Write(data)
	}
	return filepath.Join(cache, cli.String()+"-"+hex.EncodeToString(h.Sum(nil))[:16]), nil
}

func command(dir string, cli CLI) ([]string, error) {
	if cli == CLI3 {
		return []string{filepath.Join(dir, "node_modules", "@cline", "cli-linux-x64", "bin", "cline")}, nil
	}
	node, err := exec.LookPath("node")
	if err != nil {
		return nil, fmt.Errorf("%s runs on node: %w: %w", cli, err, ErrNoProgram)
	}
	return []string{node, filepath.Join(dir, "node_modules", "cline", "dist", "cli.mjs")}, nil
}

func install(ctx context.Context, dir string, cli CLI) error {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return fmt.Errorf("install %s: %w: %w", cli, err, ErrNoProgram)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("create the cache folder for %s: %w", cli, err)
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)+"-")
	if err != nil {
		return fmt.Errorf("create a folder to install %s in: %w", cli, err)
	}
	defer func() { _ = os.RemoveAll(work) }()
	for _, name := range manifestFiles {
		data, err := manifests.ReadFile("npm/" + cli.String() + "/" + name)
		if err != nil {
			return fmt.Errorf("read the manifest of %s: %w", cli, err)
		}
		if err := os.WriteFile(filepath.Join(work, name), data, 0o644); err != nil {
			return fmt.Errorf("write the manifest of %s: %w", cli, err)
		}
	}
	// No install script is needed: none of the two programs builds anything.
	cmd := exec.CommandContext(ctx, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	cmd.Dir = work
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci for %s: %w\n%s", cli, err, out)
	}
	if err := os.Rename(work, dir); err != nil {
		if _, statErr := os.Stat(dir); statErr == nil {
			return nil // Another process was faster.
		}
		return fmt.Errorf("put %s into place: %w", cli, err)
	}
	return nil
}
