package rig

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
)

// ErrNoProgram is wrapped by errors of Install that mean "not on this machine":
// no npm, or no build of the program for this platform.
var ErrNoProgram = errors.New("the agent's program is not available")

// Program is an agent's program, pinned by an npm lock file.
type Program struct {
	// Name names the program in messages and in the cache folder.
	Name string
	// Manifest holds package.json and package-lock.json, in the folder Folder if not empty.
	Manifest fs.FS
	Folder   string
	// Path is where the program is below node_modules.
	Path string
	// Node reports that node runs it. The lock file has any other for linux/amd64 alone.
	Node bool
	// Runner, if not empty, is the program below node_modules that runs it, such as a newer Node.js.
	Runner string
	// Args are its first arguments.
	Args []string
}

// Command makes sure that the program is in the cache folder and returns the command that
// starts it.
func (p Program) Command(ctx context.Context, cache string) (command []string, err error) {
	if p.Node {
		node, err := exec.LookPath("node")
		if err != nil {
			return nil, fmt.Errorf("%s runs on node: %w: %w", p.Name, err, ErrNoProgram)
		}
		command = []string{node}
	}
	if here := runtime.GOOS + "/" + runtime.GOARCH; !p.Node && here != "linux/amd64" {
		return nil, fmt.Errorf("install %s: pinned for linux/amd64, this is %s: %w", p.Name, here, ErrNoProgram)
	}
	dir, err := p.Install(ctx, cache)
	if err != nil {
		return nil, err
	}
	for _, path := range []string{p.Runner, p.Path} {
		if path != "" {
			command = append(command, filepath.Join(dir, "node_modules", filepath.FromSlash(path)))
		}
	}
	return append(command, p.Args...), nil
}

var manifestFiles = [...]string{"package.json", "package-lock.json"}

// DefaultCache is the folder the programs are installed in.
func DefaultCache() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache folder for the agents' programs: %w", err)
	}
	return filepath.Join(base, "hookspan-tests"), nil
}

// Install makes sure that the program is in the cache folder and returns the
// folder it is in, which has a node_modules. What is already there is not
// touched and costs no network. The folder's name holds a hash of the lock
// file, so that a new lock is a new installation.
//
// Several processes may install at once: each works in a separate folder and
// renames it into place; the first one wins and the others drop theirs.
func (p Program) Install(ctx context.Context, cache string) (dir string, err error) {
	files := make(map[string][]byte, len(manifestFiles))
	hash := sha256.New()
	for _, name := range manifestFiles {
		data, err := fs.ReadFile(p.Manifest, path.Join(p.Folder, name))
		if err != nil {
			return "", fmt.Errorf("read the manifest of %s: %w", p.Name, err)
		}
		files[name] = data
		hash.Write(data)
	}
	dir = filepath.Join(cache, p.Name+"-"+hex.EncodeToString(hash.Sum(nil))[:16])
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("look for %s: %w", p.Name, err)
	}
	return dir, p.install(ctx, dir, files)
}

func (p Program) install(ctx context.Context, dir string, files map[string][]byte) error {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return fmt.Errorf("install %s: %w: %w", p.Name, err, ErrNoProgram)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("create the cache folder for %s: %w", p.Name, err)
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)+"-")
	if err != nil {
		return fmt.Errorf("create a folder to install %s in: %w", p.Name, err)
	}
	defer func() { _ = os.RemoveAll(work) }()
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(work, name), data, 0o644); err != nil {
			return fmt.Errorf("write the manifest of %s: %w", p.Name, err)
		}
	}
	// No install script is needed: none of the programs builds anything.
	cmd := exec.CommandContext(ctx, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	cmd.Dir = work
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci for %s: %w\n%s", p.Name, err, out)
	}
	if err := os.Rename(work, dir); err != nil {
		if _, statErr := os.Stat(dir); statErr == nil {
			return nil // Another process was faster.
		}
		return fmt.Errorf("put %s into place: %w", p.Name, err)
	}
	return nil
}
