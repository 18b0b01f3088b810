// Package regular opens files that another user, an agent or a repository may
// have written. A link, a pipe, a device or a file of any size can be in such a
// place, and can take the place of a file between a look at it and its opening.
//
// The package promises:
//   - Opening never waits: not for the other end of a pipe, and not for a device.
//   - The returned file is regular and of the allowed size. The open file is
//     checked, not its name, so that replacing the file in between has no effect.
//   - Read returns at most the allowed number of bytes, also of a file that grows
//     while it is read.
//
// It does not promise that reading ends in time where the file system itself
// hangs, such as one over a network.
package regular

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Options says what may be opened. The zero value allows reading a regular file
// of any size, also through a symbolic link.
type Options struct {
	// Max is the largest size in bytes. If zero, any size is allowed.
	Max int64
	// NoLink refuses a symbolic link as the last element of the path. It is for
	// files that the user has not chosen, such as those of a project.
	NoLink bool
	// Private refuses a file that another user owns, and in a folder that others
	// may write to one that they may write to as well, or that has a second name.
	// Windows has no such check: its folders pass on their access rights.
	Private bool
	// Rooted refuses a file that others than the system's administrator can change or
	// replace: the owner of the file and of the folders above is root, and no other may
	// write to them. On Windows it is SYSTEM or the Administrators, of file and folder.
	Rooted bool
	// Flag and Perm are as for os.OpenFile. If Flag is zero, the file is opened
	// for reading. os.O_TRUNC is not allowed: it would act before the check.
	Flag int
	Perm fs.FileMode
}

// Error reports a file that must not be opened.
type Error struct {
	Path string
	// Found is the kind of file, Want the allowed one.
	Found, Want string
	open        bool
}

// Untrusted reports that Options.Rooted refused the file.
func (e *Error) Untrusted() bool { return e.open }

// Error names the file, what was found and what is allowed.
func (e *Error) Error() string { return e.Path + ": found " + e.Found + ", want " + e.Want }

// Open opens a file. The error is an *Error if the file is not of an allowed kind,
// else one of package os; it wraps fs.ErrNotExist if there is no file.
func Open(path string, o Options) (*os.File, fs.FileInfo, error) {
	if o.Flag&os.O_TRUNC != 0 {
		return nil, nil, fmt.Errorf("open %q: a file must not be cut before it is checked", path)
	}
	// This keeps a device from being opened, which alone can have an effect. It
	// proves nothing about the file that is opened afterwards.
	look := os.Stat
	if o.NoLink {
		look = os.Lstat
	}
	info, err := look(path)
	switch {
	case err == nil:
		err = o.check(path, info)
	case o.Flag&os.O_CREATE != 0 && os.IsNotExist(err):
		err = nil
	}
	if err != nil {
		return nil, nil, err
	}
	flag := o.Flag | noWait
	if o.NoLink {
		flag |= noFollow
	}
	f, err := os.OpenFile(path, flag, o.Perm) //nolint:gosec // The caller's path.
	if err != nil {
		if info, lerr := os.Lstat(path); o.NoLink && lerr == nil && info.Mode()&fs.ModeSymlink != 0 {
			err = o.check(path, info)
		}
		return nil, nil, err
	}
	info, err = f.Stat()
	if err == nil {
		err = o.check(path, info)
	}
	if err == nil && o.Private {
		err = private(path, info)
	}
	if err == nil && o.Rooted {
		err = rooted(path, f)
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// Read reads a whole file. Errors are as for Open.
func Read(path string, o Options) ([]byte, error) {
	data, _, err := ReadStat(path, o)
	return data, err
}

// ReadStat reads a whole file and returns what describes it. Errors are as for
// Open.
func ReadStat(path string, o Options) ([]byte, fs.FileInfo, error) {
	f, info, err := Open(path, o)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = f.Close() }() // read only
	var in io.Reader = f
	if o.Max > 0 {
		in = io.LimitReader(f, o.Max+1)
	}
	// ReadFrom needs room for MinRead more bytes before it finds the end.
	out := bytes.NewBuffer(make([]byte, 0, int(min(info.Size(), largestGuess))+bytes.MinRead))
	if _, err := out.ReadFrom(in); err != nil {
		return nil, nil, err
	}
	if n := int64(out.Len()); o.Max > 0 && n > o.Max {
		return nil, nil, o.tooLarge(path, n)
	}
	return out.Bytes(), info, nil
}

// largestGuess bounds the memory that is set aside by a file's size alone, which
// a file with holes can overstate.
const largestGuess = 1 << 20

// Check refuses what info describes unless it is a regular file. It is for files that
// the caller must not open.
func Check(path string, info fs.FileInfo) error { return Options{}.check(path, info) }

func (o Options) check(path string, info fs.FileInfo) error {
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return &Error{Path: path, Found: "a symbolic link", Want: "the file itself"}
	case !info.Mode().IsRegular():
		return &Error{Path: path, Found: kind(info.Mode()), Want: "a file"}
	case o.Max > 0 && info.Size() > o.Max:
		return o.tooLarge(path, info.Size())
	}
	return nil
}

func (o Options) tooLarge(path string, n int64) error {
	return &Error{Path: path, Found: fmt.Sprintf("%d bytes", n), Want: fmt.Sprintf("at most %d", o.Max)}
}

func kind(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a folder"
	case m&fs.ModeNamedPipe != 0:
		return "a pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "a special file"
}
