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
	// attempts bounds how often a lost race is run again. A race is lost to
	// the removal or creation of one session, so twice is rare.
	attempts = 64
)

var (
	// ErrUnsafe is wrapped by errors about a file or folder that hookspan did
	// not make: a symbolic link, a special file, a second hard link, another
	// owner, or a mode that lets others write.
	ErrUnsafe = errors.New("not safe to use")
	// ErrTooLarge is wrapped by Append's error for a record above MaxRecord.
	ErrTooLarge = errors.New("record is too large")
	// ErrPastEnd is wrapped when a Reader is asked for at an offset behind the
	// log's end: the offset belongs to a log that is gone.
	ErrPastEnd = errors.New("offset lies behind the end of the log")

	// errMoved says that what was opened is no longer what the name means.
	errMoved = errors.New("removed and created anew too often")
)

// makeRoot makes the folder and those above it. The mode is set again after
// each, because the umask may have taken bits that the next step needs.
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

// openRoot opens the spool's own folder, making it where it is missing.
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

// lstat looks at a name in d, again when a signal interrupts it, as file systems
// over a network do: of what package os does, only os.Root's look gives up then.
func lstat(d *os.Root, name string) (fs.FileInfo, error) {
	for {
		fi, err := d.Lstat(name)
		if !errors.Is(err, syscall.EINTR) {
			return fi, err
		}
	}
}

// isStill reports that the open folder is the one that was looked at.
func isStill(d *os.Root, looked fs.FileInfo) bool {
	fi, err := lstat(d, ".")
	return err == nil && os.SameFile(fi, looked)
}

// openDir opens a folder in parent. It is looked at before it is opened,
// because os.Root follows links that stay inside and waits for a fifo, and
// again afterwards, because it may have changed in between.
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

// openFile opens a regular file of ours in d, with the same care.
func openFile(d *os.Root, name string, mode int, create bool) (f *os.File, created bool, err error) {
	for range attempts {
		fi, err := lstat(d, name)
		if errors.Is(err, fs.ErrNotExist) && create {
			// O_EXCL, because without it a link planted here would be followed.
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

// giveMode undoes what the umask took from a new file; on error it closes it.
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

// isNamed reports that the open file is still the one its name means.
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

// waitLock tries for a lock until it has it or ctx ends. It polls, because a
// system call that waits could not be called off.
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
