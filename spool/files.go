package spool

import (
	"context"
	"errors"
	"fmt"
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
	ErrPastEnd = errors.New("offset lies behind the end of the log")

	// errMoved reports that the name of an open file or folder now means another.
	errMoved = errors.New("removed and created anew too often")
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
	if !isStill(root, fi) {
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

// isStill reports whether the open folder is the one that lstat described.
func isStill(d *os.Root, looked fs.FileInfo) bool {
	fi, err := lstat(d, ".")
	return err == nil && os.SameFile(fi, looked)
}

// openDir opens a folder in parent. It is checked before it is opened, since os.Root
// follows links that stay inside and waits for a fifo, and again afterwards, since
// it may have changed in between.
func openDir(parent *os.Root, name string, create bool) (d *os.Root, created bool, err error) {
	for range attempts {
		fi, err := lstat(parent, name)
		if errors.Is(err, fs.ErrNotExist) && create {
			if err := parent.Mkdir(name, dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
				return nil, false, err
			}
			created = true
			continue
		}
		if err != nil {
			return nil, false, err
		}
		if err := checkDir(fi); err != nil {
			return nil, false, fmt.Errorf("%s: %w", name, err)
		}
		if wrongMode(fi, dirMode) {
			if err := parent.Chmod(name, dirMode); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, false, err
			}
		}
		d, err := parent.OpenRoot(name)
		if errors.Is(err, fs.ErrNotExist) && create {
			continue
		}
		if err != nil {
			return nil, false, err
		}
		if isStill(d, fi) {
			return d, created, nil
		}
		if err := d.Close(); err != nil {
			return nil, false, err
		}
	}
	return nil, false, fmt.Errorf("%s: %w", name, errMoved)
}

// openFile opens a regular file of hookspan in d, with the same checks.
func openFile(d *os.Root, name string, mode int, create bool) (f *os.File, created bool, err error) {
	for range attempts {
		fi, err := lstat(d, name)
		if errors.Is(err, fs.ErrNotExist) && create {
			// Without O_EXCL, a link that was placed here would be followed.
			f, err := d.OpenFile(name, mode|noBlock|os.O_CREATE|os.O_EXCL, fileMode)
			if errors.Is(err, fs.ErrExist) {
				continue
			}
			if err != nil {
				return nil, false, err
			}
			return f, true, giveMode(f)
		}
		if err != nil {
			return nil, false, err
		}
		if err := checkFile(fi); err != nil {
			return nil, false, fmt.Errorf("%s: %w", name, err)
		}
		if wrongMode(fi, fileMode) {
			if err := d.Chmod(name, fileMode); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, false, err
			}
		}
		f, err := d.OpenFile(name, mode|noBlock, 0)
		if errors.Is(err, fs.ErrNotExist) && create {
			continue
		}
		if err != nil {
			return nil, false, err
		}
		opened, err := f.Stat()
		if err == nil && os.SameFile(opened, fi) {
			return f, false, nil
		}
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, false, err
		}
	}
	return nil, false, fmt.Errorf("%s: %w", name, errMoved)
}

// giveMode sets the mode of a new file, from which the umask may have removed bits.
// On error it closes the file.
func giveMode(f *os.File) error {
	fi, err := f.Stat()
	if err == nil && wrongMode(fi, fileMode) {
		err = f.Chmod(fileMode)
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	return nil
}

// isNamed reports whether the name of the open file still means that file.
func isNamed(d *os.Root, name string, f *os.File) (bool, error) {
	named, err := lstat(d, name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	opened, err := f.Stat()
	if err != nil {
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
	const longest = 20 * time.Millisecond
	for pause := 50 * time.Microsecond; ; pause = min(2*pause, longest) {
		ok, err := tryLock(f, exclusive)
		if ok || err != nil {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}
