package atomicfile

import (
	"cmp"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Options says how a file is written. The zero value gives a file that only the
// user can read, synced.
type Options struct {
	// Mode is the file's mode. If zero, 0600.
	Mode fs.FileMode
	// Sync is what survives a power cut. If zero, SyncFile.
	Sync Sync
	// OneName refuses to replace a file that has other names, as hard links.
	OneName bool
}

// Sync is what survives a power cut once a function has returned.
type Sync int

const (
	// SyncFile guarantees the old content or the new one.
	SyncFile Sync = iota
	// SyncName guarantees the new content, where the system can sync folders.
	SyncName
	// SyncNone guarantees nothing. It is for files that can be lost.
	SyncNone
)

// Write replaces the file at path, or creates it. The folder must exist. Errors
// are those of package os.
func Write(path string, data []byte, o Options) error {
	return WriteFunc(path, o, all(data))
}

// WriteFunc is Write for content that is written piece by piece. If write returns
// an error, the file stays as it is.
func WriteFunc(path string, o Options, write func(io.Writer) error) error {
	if o.OneName {
		if err := names(path); err != nil {
			return err
		}
	}
	temp, err := writeTemp(path, o, write)
	if err != nil {
		return err
	}
	return publish(temp, path, o)
}

// Create is Write for a file that must not exist yet. If there is anything at
// path, Create leaves it alone and returns an error that wraps fs.ErrExist.
func Create(path string, data []byte, o Options) error {
	temp, err := writeTemp(path, o, all(data))
	if err != nil {
		return err
	}
	err = os.Link(temp, path)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		// A file system without links: a file created between the two calls is lost.
		if _, err = os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return publish(temp, path, o)
		}
		err = cmp.Or(err, error(&fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}))
	}
	err = errors.Join(err, os.Remove(temp))
	if err == nil && o.Sync == SyncName {
		syncName(path)
	}
	return err
}

// RemoveTemps removes the temporary files that killed writers of path have left.
// The caller holds a lock that keeps other writers out.
func RemoveTemps(path string) {
	for _, temp := range temps(filepath.Dir(path), tempPrefix(path)) {
		if len(filepath.Base(temp)) == len(tempPrefix(path)+rand.Text()+tempSuffix) {
			_ = os.Remove(temp)
		}
	}
}

// Temps lists the temporary files in a folder, which writers that were killed have left
// there, or that one writes now.
func Temps(dir string) []string { return temps(dir, tempMark) }

func temps(dir, prefix string) (list []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		random := len(e.Name()) - len(rand.Text()+tempSuffix)
		if strings.HasPrefix(e.Name(), prefix) && strings.HasSuffix(e.Name(), tempSuffix) && random > len(tempMark) && e.Name()[random-1] == '-' {
			list = append(list, filepath.Join(dir, e.Name()))
		}
	}
	return list
}

// publish gives the temporary file its name.
func publish(temp, path string, o Options) error {
	if err := os.Rename(temp, path); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	if o.Sync == SyncName {
		syncName(path)
	}
	return nil
}

// syncName makes the new name last. The content is on disk already, so a system
// that cannot sync folders is no reason to report an error.
func syncName(path string) { _ = SyncFolder(filepath.Dir(path)) }

// all writes the whole content.
func all(data []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}
}

func writeTemp(path string, o Options, write func(io.Writer) error) (string, error) {
	temp := filepath.Join(filepath.Dir(path), tempPrefix(path)+rand.Text()+tempSuffix)
	mode := cmp.Or(o.Mode, 0o600)
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return "", err
	}
	keepOwner(f, path)
	err = write(f)
	if err == nil && mode != 0o600 { // the umask may have removed bits
		err = f.Chmod(mode)
	}
	if err == nil && o.Sync != SyncNone {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(temp))
	}
	return temp, nil
}

func tempPrefix(path string) string { return tempMark + filepath.Base(path) + "-" }

const tempMark, tempSuffix = ".hookspan-", ".tmp"
