package spool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const (
	dirMode  = 0o700
	fileMode = 0o600
	// attempts bounds how often an operation is tried again after a lost race. A race
	// is lost to the removal or creation of one session, so twice is rare.
	attempts = 64
)

var (
	// ErrUnsafe is wrapped by errors about a file or folder that hookspan did not
	// create: a symbolic link, a special file, a second hard link, another owner, or
	// a mode that lets others write.
	ErrUnsafe = errors.New("not safe to use")
	// ErrTooLarge is wrapped by Append's error for a record above MaxRecord.
	ErrTooLarge = errors.New("record is too large")
	// ErrPastEnd is wrapped by the error for a Reader at an offset behind the log's
	// end: the offset belongs to a log that was removed.
	ErrPastEnd = errors.New("offset is behind the end of the log")
	// ErrNotSynced is wrapped by Append's error for a record that is stored and may not
	// survive a power cut.
	ErrNotSynced = errors.New("stored, but not synced")

	// errMoved reports that the name of an open file or folder now means another.
	errMoved = errors.New("removed and created anew too often")
	// errNoLocks is wrapped by the error of a lock that cannot be taken for another
	// reason than that it is held.
	errNoLocks = errors.New("files cannot be locked here")
)

// makeRoot creates the folder and those above it. It sets the mode of each again,
// since the umask may have removed bits that the next step needs.
func makeRoot(dir string) error {
	err := os.Mkdir(dir, dirMode)
	if errors.Is(err, fs.ErrNotExist) {
		parent := filepath.Dir(dir)
		if parent == dir {
			return err
		}
		if err := makeRoot(parent); err != nil {
			return err
		}
		err = os.Mkdir(dir, dirMode)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	fi, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if fi.IsDir() && wrongMode(fi, dirMode) {
		return os.Chmod(dir, dirMode)
	}
	return nil
}

// openRoot opens the spool's folder and creates it if it is missing.
func openRoot(dir string) (*os.Root, error) {
	fi, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeRoot(dir); err != nil {
			return nil, err
		}
		fi, err = os.Lstat(dir)
	}
	if err != nil {
		return nil, err
	}
	if err := checkDir(fi); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir + folderOnly)
	if err != nil {
		return nil, err
	}
	if now, err := lstat(root, "."); err != nil || !os.SameFile(now, fi) {
		return nil, errors.Join(fmt.Errorf("%w: replaced while it was opened", ErrUnsafe), root.Close())
	}
	return root, nil
}

func checkDir(fi fs.FileInfo) error {
	if !fi.IsDir() {
		return fmt.Errorf("%w: found a %s, want a folder: move it away", ErrUnsafe, typeName(fi.Mode()))
	}
	return checkOwner(fi)
}

func checkFile(fi fs.FileInfo) error {
	if !fi.Mode().IsRegular() {
		return fmt.Errorf("%w: found a %s, want a regular file: move it away", ErrUnsafe, typeName(fi.Mode()))
	}
	if n := links(fi); n > 1 {
		return fmt.Errorf("%w: has %d hard links, want one: remove the others", ErrUnsafe, n)
	}
	return checkOwner(fi)
}

func typeName(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return "regular file"
	case m.IsDir():
		return "folder"
	case m&fs.ModeSymlink != 0:
		return "symbolic link"
	case m&fs.ModeNamedPipe != 0:
		return "fifo"
	case m&fs.ModeSocket != 0:
		return "socket"
	case m&fs.ModeDevice != 0:
		return "device"
	}
	return "special file"
}

// lstat is d.Lstat, tried again after a signal has interrupted it, as happens on
// network file systems: package os does this itself except in os.Root.Lstat.
func lstat(d *os.Root, name string) (fs.FileInfo, error) {
	for {
		fi, err := d.Lstat(name)
		if !errors.Is(err, syscall.EINTR) {
			return fi, err
		}
	}
}

// opener opens a file or a folder of one name.
type opener[T io.Closer] struct {
	mode  fs.FileMode
	check func(fs.FileInfo) error
	// create returns an error that wraps fs.ErrExist if the name exists now.
	create, open func() (T, error)
	stat         func(T) (fs.FileInfo, error)
}

// in opens the name in parent. It is checked before it is opened, since os.Root
// follows links that stay inside and waits for a fifo, and again afterwards, since
// it may have changed in between.
func (o opener[T]) in(parent *os.Root, name string, create bool) (opened T, created bool, err error) {
	var none T
	for range attempts {
		fi, err := lstat(parent, name)
		if errors.Is(err, fs.ErrNotExist) && create {
			if opened, err = o.create(); errors.Is(err, fs.ErrExist) {
				continue
			}
			return opened, true, err
		}
		if err != nil {
			return none, false, err
		}
		if err := o.check(fi); err != nil {
			return none, false, fmt.Errorf("%s: %w", name, err)
		}
		if wrongMode(fi, o.mode) {
			if err := parent.Chmod(name, o.mode); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return none, false, err
			}
		}
		opened, err := o.open()
		if errors.Is(err, fs.ErrNotExist) && create {
			continue
		}
		if err != nil {
			return none, false, err
		}
		now, err := o.stat(opened)
		if err == nil && os.SameFile(now, fi) {
			return opened, false, nil
		}
		if err := opened.Close(); err != nil {
			return none, false, err
		}
	}
	return none, false, fmt.Errorf("%s: %w", name, errMoved)
}

// openDir opens a folder of hookspan in parent.
func openDir(parent *os.Root, name string, create bool) (*os.Root, error) {
	d, _, err := opener[*os.Root]{
		mode: dirMode, check: checkDir,
		create: func() (*os.Root, error) {
			// A new folder is opened as any other.
			return nil, cmp.Or(parent.Mkdir(name, dirMode), fs.ErrExist)
		},
		open: func() (*os.Root, error) { return parent.OpenRoot(name) },
		stat: func(d *os.Root) (fs.FileInfo, error) { return lstat(d, ".") },
	}.in(parent, name, create)
	return d, err
}

// openFile opens a regular file of hookspan in d.
func openFile(d *os.Root, name string, mode int, create bool) (f *os.File, created bool, err error) {
	return opener[*os.File]{
		mode: fileMode, check: checkFile,
		create: func() (*os.File, error) {
			// Without O_EXCL, a link that was placed here would be followed.
			f, err := d.OpenFile(name, mode|noBlock|os.O_CREATE|os.O_EXCL, fileMode)
			if err != nil {
				return nil, err
			}
			return f, giveMode(f)
		},
		open: func() (*os.File, error) { return d.OpenFile(name, mode|noBlock, 0) },
		stat: (*os.File).Stat,
	}.in(d, name, create)
}

// giveMode sets the mode of a new file, from which the umask may have removed bits.
// On error it closes the file.
func giveMode(f *os.File) error {
	fi, err := f.Stat()
	if err == nil && wrongMode(fi, fileMode) {
		err = f.Chmod(fileMode)
	}
	if err != nil {
		err = errors.Join(err, f.Close())
	}
	return err
}

// isNamed reports whether the name of the open file still means that file.
func isNamed(d *os.Root, name string, f *os.File) (bool, error) {
	named, err := lstat(d, name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	opened, err2 := f.Stat()
	if err := cmp.Or(err, err2); err != nil {
		return false, err
	}
	return os.SameFile(named, opened), nil
}

// lockWithin waits for a lock for some time. A lock that is free needs no timer, which
// would cost every hook call a switch to another thread.
func lockWithin(wait time.Duration, f *os.File, exclusive bool) error {
	if ok, err := tryLock(f, exclusive); ok || err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	return waitLock(ctx, f, exclusive)
}

// waitLock waits for a lock until ctx ends. It polls, since a system call that waits
// cannot be canceled.
func waitLock(ctx context.Context, f *os.File, exclusive bool) error {
	for pause := 50 * time.Microsecond; ; pause = min(2*pause, lockPause) {
		ok, err := tryLock(f, exclusive)
		if ok || err != nil {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// writeOnce makes one write call. os.File would continue after a short one, and
// another process's record could get between the two parts.
func writeOnce(f *os.File, b []byte) error {
	n, err := write(f, b)
	if err != nil {
		return fmt.Errorf("write %d bytes: %w", len(b), err)
	}
	if n < len(b) {
		return fmt.Errorf("wrote %d of %d bytes: %w", n, len(b), io.ErrShortWrite)
	}
	return nil
}

// noLocks returns the error of a lock.
func noLocks(err error) error {
	if err != nil {
		err = fmt.Errorf("%w: %w", errNoLocks, err)
	}
	return err
}

// syncable returns the error of a sync, or nil if the file system cannot sync what it
// was asked to, as some cannot sync folders. That is no failure: nothing that can be
// done later would change it.
func syncable(err error) error {
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.EBADF) || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}

// control makes a system call on the file's descriptor, and makes it again after a
// signal has interrupted it.
func control(f *os.File, call func(fd uintptr) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var callErr error
	err = conn.Control(func(fd uintptr) {
		for callErr = call(fd); errors.Is(callErr, syscall.EINTR); callErr = call(fd) {
		}
	})
	return errors.Join(err, callErr)
}
