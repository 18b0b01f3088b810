package install

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hookspan/hookspan/internal/regular"
)

// sidecarDir holds chained scripts, inside the hook folder itself so that a
// rename moves them. Cline looks at the regular files of a hook folder and
// enters no folder in it.
const sidecarDir = ".hookspan-chained"

// maxShimBytes bounds what is read of a hook file. Ours are far shorter, and a
// file of the user's may be a program of any size.
const maxShimBytes = 64 << 10

// entry is a name in a hook folder as it was found.
type entry struct {
	path string
	// info is nil when nothing is there. It describes the name itself, not
	// what a symbolic link points to.
	info fs.FileInfo
	// link is a symbolic link's target as it is written.
	link string
	// data is the start of a regular file.
	data []byte
}

// look reads the entry at path.
func look(path string) (entry, error) {
	e := entry{path: path}
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || isNotDir(err) {
		return e, nil
	}
	if err != nil {
		return e, fmt.Errorf("hook file %q: %w", path, err)
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		if e.link, err = os.Readlink(path); err != nil {
			return e, fmt.Errorf("hook file %q: %w", path, err)
		}
	case info.Mode().IsRegular():
		// What may not be read is not ours; it can still be left or moved.
		if e.data, err = readStart(path); err != nil && !errors.Is(err, fs.ErrPermission) {
			return e, fmt.Errorf("hook file %q: %w", path, err)
		}
	}
	e.info = info
	return e, nil
}

func readStart(path string) (data []byte, err error) {
	f, _, err := regular.Open(path, regular.Options{NoLink: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.ReadAll(io.LimitReader(f, maxShimBytes))
}

func (e entry) missing() bool { return e.info == nil }

// file reports a regular file or a symbolic link, which Cline may run.
func (e entry) file() bool {
	return e.info != nil && (e.info.Mode().IsRegular() || e.link != "")
}

func (e entry) executable() bool { return e.info != nil && e.info.Mode()&0o100 != 0 }

// shim reads the entry as a hook file of ours. A symbolic link to one is the
// user's.
func (e entry) shim(goos string) (shim, bool) {
	if e.info == nil || !e.info.Mode().IsRegular() {
		return shim{}, false
	}
	return parseShim(goos, e.data)
}

// same reports that two looks at one path, or at two links to one file, found
// the same thing.
func (e entry) same(o entry) bool {
	if e.missing() || o.missing() {
		return e.missing() && o.missing()
	}
	if e.link != "" || o.link != "" {
		return e.link == o.link
	}
	return os.SameFile(e.info, o.info) && e.info.Mode() == o.info.Mode() && e.info.Size() == o.info.Size() &&
		e.info.ModTime().Equal(o.info.ModTime()) && bytes.Equal(e.data, o.data)
}

// sidecar is where the user's script goes when the hook at path is chained.
func sidecar(path string) string {
	return filepath.Join(filepath.Dir(path), sidecarDir, filepath.Base(path))
}

// chainTarget is the path under which a script in the sidecar is run: its own,
// or for a symbolic link the file it pointed to from its first place.
func chainTarget(goos string, side entry) string {
	if !side.file() {
		return ""
	}
	if _, ours := side.shim(goos); ours {
		// Running it would start the hook process that runs it.
		return ""
	}
	switch {
	case side.link == "":
		return side.path
	case filepath.IsAbs(side.link):
		return side.link
	default:
		return filepath.Join(filepath.Dir(filepath.Dir(side.path)), side.link)
	}
}
