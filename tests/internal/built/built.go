// Package built gives tests and measurements the programs to run: copies of those
// that are built already, where TEST_PROGRAMS names their folder, and otherwise
// programs that it builds from the sources around it.
//
// "make test" builds the programs once and names their folder, since each package
// of tests would otherwise link them again, which takes seconds.
package built

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// Folder is the environment variable that names the folder of the programs that
// are built already.
const Folder = "TEST_PROGRAMS"

const module = "github.com/hookspan/hookspan"

// Root is the folder of the product's module, looked for from the working folder upwards.
func Root() (string, error) {
	wd, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := wd; ; dir = filepath.Dir(dir) {
		b, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(b), "module "+module+"\n") {
			return dir, nil
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no go.mod of %s in %s or above: run this from within the module", module, wd)
		}
	}
}

// Program returns the path of a program in a folder.
func Program(dir, name string) string {
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(dir, name)
}

// Ready returns the path of a program that is built already. It is empty if
// TEST_PROGRAMS is not set or its folder has no such program.
func Ready(name string) (string, error) {
	dir := os.Getenv(Folder)
	if dir == "" {
		return "", nil
	}
	if !filepath.IsAbs(dir) {
		return "", fmt.Errorf("%s=%q: want an absolute path", Folder, dir)
	}
	program := Program(dir, name)
	info, err := os.Stat(program)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("%s: %w", Folder, err)
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s: found %v at %q, want a program", Folder, info.Mode().Type(), program)
	}
	return program, nil
}

// Put puts the programs of the packages into dir. The packages are given by their
// paths within the repository; a program has the name of its package's folder.
func Put(ctx context.Context, dir string, packages ...string) error {
	var missing []string
	for _, p := range packages {
		name := path.Base(p)
		program, err := Ready(name)
		if err != nil {
			return err
		}
		if program == "" {
			missing = append(missing, p)
			continue
		}
		if err := put(Program(dir, name), program); err != nil {
			return fmt.Errorf("%s: %w", Folder, err)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	root, err := Root()
	if err != nil {
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	modules := map[string][]string{}
	for _, p := range missing {
		folder := moduleOf(root, p)
		modules[folder] = append(modules[folder], module+"/"+p)
	}
	for folder, packages := range modules {
		if err := build(ctx, dir, folder, packages); err != nil {
			return err
		}
	}
	return nil
}

// moduleOf is the folder of the module that a package belongs to.
func moduleOf(root, pkg string) string {
	for folder := pkg; folder != "."; folder = path.Dir(folder) {
		if _, err := os.Stat(filepath.Join(root, folder, "go.mod")); err == nil {
			return filepath.Join(root, folder)
		}
	}
	return root
}

// build puts the programs of packages of one module into dir.
func build(ctx context.Context, dir, folder string, packages []string) error {
	// The flags are those of a release, so that its sizes and start-up costs are measured.
	cmd := exec.CommandContext(ctx, "go", append([]string{ //nolint:gosec // Our own programs.
		"build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", dir + string(filepath.Separator),
	}, packages...)...)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", strings.Join(packages, ", "), err, out)
	}
	return nil
}

// put copies a program. A process that is started meanwhile would hold the copy open
// for writing until it has become its own program, and the system starts no program
// that is open for writing; so none is started.
func put(to, from string) error {
	text, err := os.ReadFile(from) //nolint:gosec // The folder is the caller's choice.
	if err != nil {
		return err
	}
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(to, text, 0o755) //nolint:gosec // A program.
}
