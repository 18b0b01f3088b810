package hookfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/hookspan/hookspan/internal/files/atomicfile"
	"github.com/hookspan/hookspan/internal/files/regular"
)

// MaxSize is the size in bytes of the largest hooks file that is read.
const MaxSize = 4 << 20

// Document is a hooks file on disk that is to be edited or trusted.
type Document struct {
	// Path is the file's path, and Target where its bytes are: the user's own file
	// may be a link.
	Path, Target string
	// Project reports that it belongs to a project.
	Project bool
	// Exists reports that the file exists. Data are its bytes, File their meaning.
	Exists bool
	Data   []byte
	File   *File

	mode fs.FileMode
}

// Open reads a hooks file. A missing file is an empty one. A text that is no JSON
// object is a *[SyntaxError]. A project's file may not be a link: the project's
// author could have it lead anywhere.
func Open(path string, project bool) (*Document, error) {
	d := &Document{Path: path, Target: path, Project: project, File: &File{Path: path}, mode: 0o600}
	if project {
		d.mode = 0o644
	}
	if err := d.follow(); err != nil {
		return nil, err
	}
	data, info, err := regular.ReadStat(d.Target, regular.Options{Max: MaxSize, NoLink: true})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return d, nil
	case err != nil:
		return nil, fmt.Errorf("hooks file: %w", err)
	}
	d.Data, d.Exists, d.mode = data, true, info.Mode().Perm()
	if len(bytes.TrimSpace(data)) > 0 {
		d.File, err = Parse(path, data)
	}
	return d, err
}

// follow resolves a link to the user's own file.
func (d *Document) follow() error {
	for _, path := range []string{filepath.Dir(d.Path), d.Path} {
		info, err := os.Lstat(path)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			continue // reading reports other faults
		}
		if d.Project {
			return fmt.Errorf("hooks file %q: %q is a link, which a project's may not be: put the file itself there", d.Path, path)
		}
		target, err := filepath.EvalSymlinks(d.Path)
		if errors.Is(err, fs.ErrNotExist) && path != d.Path {
			return nil // the folder is a link, the file does not exist yet
		}
		if err != nil {
			return fmt.Errorf("hooks file %q: the link leads nowhere: create its target or remove the link: %w", d.Path, err)
		}
		d.Target = target
	}
	return nil
}

// Diff is the change to a new text in the unified form, as [Whole] shows it, but without
// the values of variables and headers that are in the file already.
func (d *Document) Diff(after []byte, clean func(string) string) string {
	known := make(map[string]bool)
	before := hideValues(d.Data, func(member string) bool { known[member] = true; return true })
	after = hideValues(after, func(member string) bool { return known[member] })
	// The first line repeats the names.
	_, rest, _ := strings.Cut(string(diff.Diff(d.Path, before, d.Path, after)), "\n")
	return Whole(rest, clean)
}

// Backup is the path of the copy that Write keeps.
func (d *Document) Backup() string { return d.Target + ".hookspan-backup" }

// Write replaces the text atomically and keeps the old one in Backup. A file that
// has changed since it was read is an error.
func (d *Document) Write(after []byte) error {
	mode := fs.FileMode(0o700)
	if d.Project {
		mode = 0o755
	}
	unlock, err := lockFolder(filepath.Dir(d.Target), mode)
	if err != nil {
		return fmt.Errorf("hooks file %q: %w", d.Path, err)
	}
	defer unlock()
	if err = d.same(); err == nil && d.Exists {
		if err = atomicfile.Write(d.Backup(), d.Data, atomicfile.Options{Mode: d.mode}); err == nil {
			err = d.same() // An editor takes no lock, and the copy takes its time.
		}
	}
	if err == nil {
		err = atomicfile.Write(d.Target, after, atomicfile.Options{Mode: d.mode, OneName: true})
	}
	if err != nil {
		return fmt.Errorf("hooks file %q: %w", d.Path, err)
	}
	return nil
}

// errChanged says that another program has written the file.
var errChanged = errors.New("changed since it was read: nothing was done to it, run it again")

// same returns an error if the file has changed since it was read.
func (d *Document) same() error {
	now, err := regular.Read(d.Target, regular.Options{Max: MaxSize, NoLink: true})
	if d.Exists && (err != nil || !bytes.Equal(now, d.Data)) || !d.Exists && !errors.Is(err, fs.ErrNotExist) {
		return errChanged
	}
	return nil
}

// WriteTrusted writes the text like Write and reports whether the file is trusted
// afterwards. A project's file that the user trusted stays trusted, since the
// change is the user's. If byUser is set, so is a file that held no hook and no
// variable before.
func (d *Document) WriteTrusted(after []byte, list Trust, byUser bool) (trusted bool, err error) {
	bare := len(d.File.Handlers) == 0 && len(d.File.Problems) == 0 && len(d.File.Env) == 0
	trusted = d.Project && (d.Exists && list.Trusted(d.Path, d.Data) || byUser && bare)
	if err := d.Write(after); err != nil {
		return false, err
	}
	if !trusted {
		return false, nil
	}
	if err := list.Add(d.Path, after); err != nil {
		return false, fmt.Errorf("%s is written; its hooks do not run yet: %w", d.Path, err)
	}
	return true, nil
}

// CheckOwner refuses a file that is a link or belongs to another user, who could
// change it after it was trusted. A missing file is no error.
func CheckOwner(path string) error {
	for _, p := range []string{filepath.Dir(path), path} {
		info, err := os.Lstat(p)
		if err != nil {
			return nil
		}
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			return fmt.Errorf("%s: is a link, which could lead elsewhere tomorrow: only the file itself can be trusted", p)
		case !mine(info):
			return fmt.Errorf("%s: belongs to another user, who could change it: not trusted", p)
		}
	}
	return nil
}
