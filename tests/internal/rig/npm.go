package rig

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
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
	// Held reports that it is an old version by intent, which the newest does not replace.
	Held bool
}

// NewestVariable names a folder with a package.json in a folder of each program's name, which
// takes the place of the pinned manifests. A program that has none there stays as it is pinned.
const NewestVariable = "HOOKSPAN_TEST_NEWEST"

// Manifests are package.json and, of a program that is pinned, package-lock.json.
func (p Program) Manifests() (files map[string][]byte, err error) {
	if newest := os.Getenv(NewestVariable); newest != "" && !p.Held {
		data, err := os.ReadFile(filepath.Join(newest, p.Name, manifestFiles[0]))
		if !errors.Is(err, fs.ErrNotExist) {
			return map[string][]byte{manifestFiles[0]: data}, err
		}
	}
	files = make(map[string][]byte, len(manifestFiles))
	for _, name := range manifestFiles {
		if files[name], err = fs.ReadFile(p.Manifest, path.Join(p.Folder, name)); err != nil {
			return nil, fmt.Errorf("read the manifest of %s: %w", p.Name, err)
		}
	}
	return files, nil
}

// Package is the npm package with the program and what its manifest wants of it: a version, or
// "npm:", another package's name, "@" and a version. Both are empty without a manifest.
func (p Program) Package() (name, want string) {
	var manifest struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	files, err := p.Manifests()
	if err != nil || json.Unmarshal(files[manifestFiles[0]], &manifest) != nil {
		return "", ""
	}
	for name, want = range manifest.Dependencies {
		if !strings.HasPrefix(name, "node-") { // beside the program: the node that runs it
			break
		}
	}
	return name, want
}

// Version is the program's, as its users see it.
func (p Program) Version() string {
	_, want := p.Package()
	version, _, _ := strings.Cut(want[strings.LastIndex(want, "@")+1:], "-linux")
	return version
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
	files, err := p.Manifests()
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	for _, name := range manifestFiles {
		hash.Write(files[name])
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
	how := "ci"
	if len(files) < len(manifestFiles) {
		how = "install" // npm 11 refuses the lock files that its --package-lock-only writes
	}
	cmd := exec.CommandContext(ctx, npm, how, "--ignore-scripts", "--no-audit", "--no-fund")
	cmd.Dir = work
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm %s for %s: %w\n%s", how, p.Name, err, out)
	}
	if err := os.Rename(work, dir); err != nil {
		if _, statErr := os.Stat(dir); statErr == nil {
			return nil // Another process was faster.
		}
		return fmt.Errorf("put %s into place: %w", p.Name, err)
	}
	return nil
}
