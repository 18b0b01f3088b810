package programs

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/files/atomicfile"
	"github.com/hookspan/hookspan/internal/files/filelock"
	"github.com/hookspan/hookspan/internal/files/regular"
)

// names are the programs in the order in which they are replaced: those that hooks
// start first come last.
var names = [...]string{"hookspan", "hook-runner", "cline-hook", "claude-hook"}

const (
	recordName = "programs.json"
	// newSuffix and oldSuffix mark a program that gets its name next, and one that
	// was running when it was replaced.
	newSuffix, oldSuffix = ".new", ".old"
	maxRecord            = 1 << 20
	lockWait             = 10 * time.Second
)

// Folder holds copies of the programs. It belongs to hookspan alone.
type Folder struct {
	// Path is absolute.
	Path string
	// GOOS is the operating system in Go's spelling.
	GOOS string
}

// record is the content of programs.json.
type record struct {
	// Version is the version of all programs, empty during a replacement.
	Version string `json:"version"`
	// Created are the folders that had to be created, outermost first.
	Created []string `json:"created,omitempty"`
}

// Of returns the user's folder of programs. It fails without an absolute path to
// put it in.
func Of(goos, home string, getenv func(string) string) (Folder, error) {
	data := filepath.Join(home, ".local", "share")
	switch goos {
	case "windows":
		data = filepath.Join(home, "AppData", "Local")
		if dir := getenv("LOCALAPPDATA"); filepath.IsAbs(dir) {
			data = dir
		}
	case "darwin":
		data = filepath.Join(home, "Library", "Application Support")
	default:
		// The specification has relative paths ignored.
		if dir := getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
			data = dir
		}
	}
	if !filepath.IsAbs(data) {
		return Folder{}, fmt.Errorf("folder of the hook programs %q: want an absolute path: set HOME", data)
	}
	return Folder{filepath.Join(data, "hookspan", "bin"), goos}, nil
}

// Program returns the path of a program's copy.
func (f Folder) Program(name string) string { return filepath.Join(f.Path, f.file(name)) }

func (f Folder) file(name string) string {
	if f.GOOS == "windows" {
		return name + ".exe"
	}
	return name
}

// Version returns the version of the copies. It is empty where there are none, and
// while they are being replaced or after that was interrupted.
func (f Folder) Version() (string, error) {
	if f.Path == "" {
		return "", nil
	}
	r, err := f.read()
	return r.Version, err
}

// Refresh is Install for copies of an older release, or whose replacement was
// interrupted. It does nothing where there are no copies.
func (f Folder) Refresh(ctx context.Context, from, version string) (changed bool, err error) {
	if f.Path == "" {
		return false, nil
	}
	r, err := f.read()
	if err != nil || r.Version != "" && !Newer(version, r.Version) {
		return false, err
	}
	if _, err := os.Lstat(f.recordPath()); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return f.Install(ctx, from, version)
}

// Install copies the programs of a version from a folder, whether it is newer or
// older than the copies that are there. It reports whether it changed one.
func (f Folder) Install(ctx context.Context, from, version string) (changed bool, err error) {
	if same(from, f.Path) {
		return false, nil // The copies themselves are running.
	}
	sources, err := f.sources(from)
	if err != nil {
		return false, err
	}
	created := missing(f.Path)
	if err := atomicfile.MakeFolders(f.Path, 0o700); err != nil {
		return false, fmt.Errorf("folder of the hook programs: %w", err)
	}
	unlock, err := f.lock(ctx)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, unlock.Close()) }()
	r, err := f.read()
	if err != nil {
		return false, err
	}
	f.tidy()
	var differ []string
	for _, name := range sources {
		equal, err := f.equal(filepath.Join(from, name), filepath.Join(f.Path, name))
		if err != nil {
			return false, fmt.Errorf("hook program: %w", err)
		}
		if !equal {
			differ = append(differ, name)
		}
	}
	if len(r.Created) == 0 {
		r.Created = created
	}
	if len(differ) == 0 && r.Version == version {
		return false, nil
	}
	r.Version = "" // Until all are replaced.
	if err := f.write(r); err != nil {
		return false, err
	}
	for _, name := range differ {
		if err := f.replace(filepath.Join(from, name), name); err != nil {
			return true, fmt.Errorf("hook program %q: %w", filepath.Join(f.Path, name), err)
		}
	}
	r.Version = version
	return len(differ) > 0, f.write(r)
}

// Copied reports that the folder has copies that an install made, by their record.
func (f Folder) Copied() bool {
	_, err := os.Lstat(f.recordPath())
	return err == nil && filepath.Base(f.Path) == "bin" && filepath.Base(filepath.Dir(f.Path)) == "hookspan"
}

// Remove removes the copies, and the folders that were created for them if nothing
// else is in them.
func (f Folder) Remove(ctx context.Context) (err error) {
	unlock, err := f.lock(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return f.removeFolders()
	}
	if err != nil {
		return err
	}
	err = errors.Join(f.remove(), unlock.Close())
	if err != nil {
		return err
	}
	return f.removeFolders()
}

// remove removes the programs. The caller holds the lock.
func (f Folder) remove() error {
	f.tidy()
	for _, name := range names {
		path := f.Program(name)
		err := os.Remove(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			err = f.aside(path)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("hook program: %w", err)
		}
	}
	return nil
}

// removeFolders removes the record and the folders that it names, without the lock,
// which would keep Windows from removing one.
func (f Folder) removeFolders() error {
	r, err := f.read()
	if err != nil {
		return err
	}
	if err := os.Remove(f.recordPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// These two are hookspan's, whatever a lost record said.
	slices.Reverse(r.Created)
	for _, dir := range append([]string{f.Path, filepath.Dir(f.Path)}, r.Created...) {
		_ = atomicfile.RemoveFolder(dir)
	}
	return nil
}

// sources are the names of the programs in a folder. hookspan, which delivers, must
// be there; of the others each is for some agents only.
func (f Folder) sources(from string) (files []string, err error) {
	for _, name := range names {
		path := filepath.Join(from, f.file(name))
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist) && name != names[0]:
			continue
		case err != nil:
			return nil, fmt.Errorf("hook program: %w", err)
		case !info.Mode().IsRegular():
			return nil, fmt.Errorf("hook program %q: not a regular file", path)
		}
		files = append(files, f.file(name))
	}
	return files, nil
}

// replace puts a copy of a program under its name.
func (f Folder) replace(from, name string) (err error) {
	in, _, err := regular.Open(from, regular.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	path := filepath.Join(f.Path, name)
	fresh := path + newSuffix
	if err := atomicfile.WriteFunc(fresh, atomicfile.Options{Mode: 0o700}, func(w io.Writer) error {
		_, err := io.Copy(w, in)
		return err
	}); err != nil {
		return err
	}
	if err := os.Rename(fresh, path); err == nil || f.GOOS != "windows" {
		return err
	}
	if err := f.aside(path); err != nil {
		return err
	}
	return os.Rename(fresh, path)
}

// aside renames a running program, which Windows allows.
func (f Folder) aside(path string) error {
	return os.Rename(path, path+"."+rand.Text()+oldSuffix)
}

// tidy removes what earlier replacements have left. A program that still runs
// stays, on Windows. The caller holds the lock.
func (f Folder) tidy() {
	entries, err := os.ReadDir(f.Path)
	if err != nil {
		return
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), newSuffix) || strings.HasSuffix(e.Name(), oldSuffix) {
			_ = os.Remove(filepath.Join(f.Path, e.Name()))
		}
	}
	for _, name := range names {
		atomicfile.RemoveTemps(f.Program(name) + newSuffix)
	}
	atomicfile.RemoveTemps(f.recordPath())
}

func (f Folder) lock(ctx context.Context) (io.Closer, error) {
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	lock, err := filelock.Folder(ctx, f.Path)
	if errors.Is(err, context.DeadlineExceeded) {
		err = errors.New("another hookspan replaces them: wait for it or end it")
	}
	if err != nil {
		return nil, fmt.Errorf("folder of the hook programs %q: %w", f.Path, err)
	}
	return lock, nil
}

func (f Folder) recordPath() string { return filepath.Join(f.Path, recordName) }

func (f Folder) read() (r record, err error) {
	data, err := regular.Read(f.recordPath(), regular.Options{Max: maxRecord})
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil {
		return record{}, fmt.Errorf("record of the hook programs %q: %w: remove the file, then run hookspan install", f.recordPath(), err)
	}
	return r, nil
}

func (f Folder) write(r record) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return atomicfile.Write(f.recordPath(), append(data, '\n'), atomicfile.Options{})
}

// Newer reports that version a is of a later release than b: its major, minor or patch
// number is higher, or they are equal and b is a release candidate before it, see
// semver.org. It is false where a or b has no such numbers.
func Newer(a, b string) bool {
	x, okX := release(a)
	y, okY := release(b)
	if order := slices.Compare(x[:], y[:]); !okX || !okY || order != 0 {
		return okX && okY && order > 0
	}
	return laterCandidate(candidate(a), candidate(b))
}

// described is what git adds to the version of a commit behind a tag.
var described = regexp.MustCompile(`(-[0-9]+-g[0-9a-f]+)?(-dirty)?(\+.*)?$`)

// candidate is the part of a version such as v1.0.0-rc.2 behind the numbers, empty for a
// release.
func candidate(version string) string {
	_, candidate, _ := strings.Cut(described.ReplaceAllString(version, ""), "-")
	return candidate
}

// laterCandidate reports that a comes after b. A release comes after its candidates.
func laterCandidate(a, b string) bool {
	if a == "" || b == "" {
		return a == "" && b != ""
	}
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(x), len(y)) {
		m, errM := strconv.ParseUint(x[i], 10, 31)
		n, errN := strconv.ParseUint(y[i], 10, 31)
		switch {
		case x[i] == y[i]:
		case errM == nil && errN == nil:
			return m > n
		case errM != nil && errN != nil:
			return x[i] > y[i]
		default:
			return errM != nil // a number comes before a word
		}
	}
	return len(x) > len(y)
}

// Released reports that a version has the numbers of a release.
func Released(version string) bool {
	_, ok := release(version)
	return ok
}

// release returns the three numbers of a version such as v0.1.0-5-gabcdef0.
func release(version string) (n [3]int, ok bool) {
	version = strings.TrimPrefix(version, "v")
	if end := strings.IndexAny(version, "-+"); end >= 0 {
		version = version[:end]
	}
	parts := strings.Split(version, ".")
	if len(parts) != len(n) {
		return n, false
	}
	for i, part := range parts {
		v, err := strconv.ParseUint(part, 10, 31)
		if err != nil {
			return n, false
		}
		n[i] = int(v) //nolint:gosec // 31 bits.
	}
	return n, true
}

// missing lists the folders that must be created for dir, outermost first.
func missing(dir string) (list []string) {
	for at := dir; at != filepath.Dir(at); at = filepath.Dir(at) {
		if _, err := os.Stat(at); err == nil {
			break
		}
		list = append(list, at)
	}
	slices.Reverse(list)
	return list
}

func same(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// equal reports that copied is a program with the content of path.
func (f Folder) equal(path, copied string) (equal bool, err error) {
	a, infoA, err := regular.Open(path, regular.Options{})
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	b, infoB, err := regular.Open(copied, regular.Options{NoLink: true})
	if err != nil {
		return false, nil //nolint:nilerr // Missing, or not a file: it is replaced.
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	if infoA.Size() != infoB.Size() || f.GOOS != "windows" && infoB.Mode()&0o100 == 0 {
		return false, nil
	}
	x, y := make([]byte, 1<<16), make([]byte, 1<<16)
	for {
		n, errA := io.ReadFull(a, x)
		m, errB := io.ReadFull(b, y)
		if n != m || !bytes.Equal(x[:n], y[:m]) {
			return false, nil
		}
		if errors.Is(errA, io.EOF) || errors.Is(errA, io.ErrUnexpectedEOF) {
			return errors.Is(errB, io.EOF) || errors.Is(errB, io.ErrUnexpectedEOF), nil
		}
		if err := errors.Join(errA, errB); err != nil {
			return false, err
		}
	}
}
