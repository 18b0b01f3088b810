package install

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hookspan/hookspan/internal/files/regular"
)

// maxFileBytes bounds what is read of a file. Real settings and hookspan's hook
// files are far shorter, and a user's file may be a program of any size.
const maxFileBytes = 16 << 20

// startBytes are read of a file that is longer, whose beginning may still say what it is.
const startBytes = 1 << 20

// File is a file, or its absence, as it was found.
type File struct {
	Path string
	// Info is nil when there is no file. It describes a symbolic link itself, not
	// its target.
	Info fs.FileInfo
	// Link is a symbolic link's target as it is written.
	Link string
	// Data is the content of a regular file, of a very long one the beginning.
	Data []byte
}

// Look describes the file at path and reads it. A missing file is no error, one that another
// process removes meanwhile is missing.
func Look(path string) (File, error) {
	f, err := look(path)
	if errors.Is(err, fs.ErrNotExist) || IsNotDir(err) {
		return File{Path: path}, nil
	}
	if err != nil {
		return f, fmt.Errorf("file %q: %w", path, err)
	}
	return f, nil
}

func look(path string) (File, error) {
	f := File{Path: path}
	info, err := os.Lstat(path)
	if err != nil {
		return f, err
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		if f.Link, err = os.Readlink(path); err != nil {
			return f, err
		}
	case info.Mode().IsRegular():
		// An unreadable file is not hookspan's; it can still be left or moved.
		if f.Data, err = readStart(path); err != nil && !errors.Is(err, fs.ErrPermission) {
			return f, err
		}
	}
	f.Info = info
	return f, nil
}

// Follow is Look that gives a symbolic link the content of its target, by which a file of
// hookspan's is known that the user has moved and linked.
func Follow(path string) (File, error) {
	f, err := Look(path)
	if err == nil && f.Link != "" {
		if target, err := filepath.EvalSymlinks(path); err == nil {
			f.Data, _ = readStart(target) // of what cannot be read it is not known
		}
	}
	return f, err
}

func readStart(path string) (data []byte, err error) {
	in, info, err := regular.Open(path, regular.Options{NoLink: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	most := int64(maxFileBytes)
	if info.Size() > most {
		most = startBytes // none of hookspan's
	}
	return io.ReadAll(io.LimitReader(in, most))
}

// Missing reports that there is no file.
func (f File) Missing() bool { return f.Info == nil }

// Runnable reports a regular file or a symbolic link, which an agent may run.
func (f File) Runnable() bool {
	return f.Info != nil && (f.Info.Mode().IsRegular() || f.Link != "")
}

// Executable reports that the owner may execute the file.
func (f File) Executable() bool { return f.Info != nil && f.Info.Mode()&0o100 != 0 }

// Same reports that f and o describe the same, unchanged file. They may have
// been found at two links to it.
func (f File) Same(o File) bool {
	if f.Missing() || o.Missing() {
		return f.Missing() && o.Missing()
	}
	if f.Link != "" || o.Link != "" {
		return f.Link == o.Link
	}
	return os.SameFile(f.Info, o.Info) && f.Info.Mode() == o.Info.Mode() && f.Info.Size() == o.Info.Size() &&
		f.Info.ModTime().Equal(o.Info.ModTime()) && bytes.Equal(f.Data, o.Data)
}

// At returns f as found at another path, after a rename.
func (f File) At(path string) File {
	f.Path = path
	return f
}
