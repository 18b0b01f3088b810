package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/hookspan/hookspan/internal/atomicfile"
	"github.com/hookspan/hookspan/internal/clinehooks/hookfile"
	"github.com/hookspan/hookspan/internal/regular"
)

// hooksBackup ends the name of the copy that is kept of a hooks.json as it was
// before its latest change.
const hooksBackup = ".hookspan-backup"

// maxHooksFile is the largest hooks.json that is edited, in bytes; a larger one
// is not read when hooks run.
const maxHooksFile = 4 << 20

// hooksFile is a hooks.json that is to be edited or trusted.
type hooksFile struct {
	path string
	// target is where the bytes are: the user's own file may be a link, into a
	// folder of dotfiles.
	target  string
	project bool
	exists  bool
	mode    fs.FileMode
	data    []byte
	parsed  *hookfile.File
}

// openHooks reads a hooks.json. One that is not there is an empty one; one that
// is no JSON object is an error, and so is a project's that is a link.
func openHooks(path string, project bool) (*hooksFile, error) {
	f := &hooksFile{path: path, target: path, project: project, mode: 0o600}
	if project {
		f.mode = 0o644
	}
	if err := f.follow(); err != nil {
		return nil, err
	}
	data, info, err := regular.ReadStat(f.target, regular.Options{Max: maxHooksFile, NoLink: true})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.parsed = &hookfile.File{Path: path}
		return f, nil
	case err != nil:
		return nil, fmt.Errorf("hooks file: %w", err)
	}
	f.data, f.exists, f.mode = data, true, info.Mode().Perm()
	if len(bytes.TrimSpace(f.data)) == 0 {
		f.parsed = &hookfile.File{Path: path}
		return f, nil
	}
	if f.parsed, err = hookfile.Parse(path, f.data); err != nil {
		return nil, hinted{err, "nothing was done to the file: fix it at that place and run this again"}
	}
	return f, nil
}

// follow finds what the user's own file is a link to. In a project nothing may be
// a link: whoever wrote the project could have it lead anywhere.
func (f *hooksFile) follow() error {
	for _, path := range []string{filepath.Dir(f.path), f.path} {
		info, err := os.Lstat(path)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			continue // what else is wrong shows when it is read
		}
		if f.project {
			return fmt.Errorf("hooks file %q: %q is a link, which a project's may not be: put the file itself there", f.path, path)
		}
		target, err := filepath.EvalSymlinks(f.path)
		if errors.Is(err, fs.ErrNotExist) && path != f.path {
			return nil // the folder is a link, the file is not there yet
		}
		if err != nil {
			return fmt.Errorf("hooks file %q: the link leads nowhere: create its target or remove the link: %w", f.path, err)
		}
		f.target = target
	}
	return nil
}

// diff is the change in the unified form. shown returns a text without what must
// not be printed.
func (f *hooksFile) diff(after []byte, shown func([]byte) []byte) string {
	d := diff.Diff(f.path, shown(f.data), f.path, shown(after))
	// The first line repeats the names.
	if at := bytes.IndexByte(d, '\n'); at >= 0 {
		d = d[at+1:]
	}
	return string(d)
}

// write puts the new text in place in one instant and keeps the old one beside
// it. A file that has changed since it was read is left alone.
func (f *hooksFile) write(after []byte) error {
	now, err := regular.Read(f.target, regular.Options{Max: maxHooksFile, NoLink: true})
	if f.exists && (err != nil || !bytes.Equal(now, f.data)) || !f.exists && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("hooks file %q: changed since it was read: nothing was done to it, run it again", f.path)
	}
	dir := filepath.Dir(f.target)
	mode := fs.FileMode(0o700)
	if f.project {
		mode = 0o755
	}
	if err := os.MkdirAll(dir, mode); err != nil {
		return fmt.Errorf("hooks file %q: %w", f.path, err)
	}
	if f.exists {
		if err := atomicfile.Write(f.target+hooksBackup, f.data, atomicfile.Options{Mode: f.mode}); err != nil {
			return fmt.Errorf("backup of hooks file %q: %w", f.path, err)
		}
	}
	if err := atomicfile.Write(f.target, after, atomicfile.Options{Mode: f.mode}); err != nil {
		return fmt.Errorf("hooks file %q: %w", f.path, err)
	}
	return nil
}

// saveHooks shows the change of a hooks.json and makes it. It reports whether
// something was changed.
//
// A project's file that the user trusted stays trusted, since the change is
// theirs; so is one whose every hook is of their making. One with hooks in it
// that they have not trusted is not, whatever they add to it.
func (a *app) saveHooks(f *hooksFile, after []byte, theirs, dryRun bool) (bool, error) {
	if f.exists && bytes.Equal(f.data, after) {
		a.printf("%s: nothing to change\n", f.path)
		return false, nil
	}
	a.printf("%s\n", f.path)
	a.printDiff(f.diff(after, func(text []byte) []byte { return []byte(a.clean(string(hookfile.HideEnv(text)))) }))
	if dryRun {
		a.printf("\nnothing was done (--dry-run)\n")
		return false, nil
	}
	trusted := f.project && (f.exists && a.trust().Trusted(f.path, f.data) || theirs && f.bare())
	if err := f.write(after); err != nil {
		return false, err
	}
	if f.project || f.exists {
		a.printf("\n")
	}
	switch {
	case !f.project:
	case trusted:
		if err := a.trust().Add(f.path, after); err != nil {
			return true, fmt.Errorf("%s is written; its hooks do not run yet: %w", f.path, err)
		}
		a.printf("It is trusted, since what is in it is yours: its hooks run when you work in this project.\n")
	default:
		a.printf("It is not trusted, so its hooks do not run.\n")
		a.hint("read what it runs, then: hookspan hooks trust " + shellWord(projectOf(f.path)))
	}
	if f.exists {
		a.printf("The file as it was: %s\n", f.target+hooksBackup)
	}
	return true, nil
}

// bare reports that the file holds neither a hook, not even one that does not run
// here, nor a variable.
func (f *hooksFile) bare() bool {
	return len(f.parsed.Handlers) == 0 && len(f.parsed.Problems) == 0 && len(f.parsed.Env) == 0
}
