package hookfile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/files/atomicfile"
	"github.com/hookspan/hookspan/internal/files/filelock"
	"github.com/hookspan/hookspan/internal/files/regular"
)

// Trust is the list of the projects' hooks files that the user trusts. It is a
// JSON file that only the user can read:
//
//	{"version": 1, "files": [{"path": "/work/x/.cline/hooks.json", "sha256": "9f86..."}]}
//
// A file is trusted at its path and with its bytes; a changed file is not, and
// neither is a copy elsewhere. A list that cannot be read trusts nothing.
type Trust struct {
	// Path is the list's own file.
	Path string
}

// TrustIn is the list in the folder of the user's settings.
func TrustIn(configDir string) Trust {
	return Trust{Path: filepath.Join(configDir, "trusted-hooks.json")}
}

// TrustedFile is one entry of the list.
type TrustedFile struct {
	// Path is absolute and clean.
	Path string `json:"path"`
	// SHA256 is the hash of the content, in hexadecimal digits.
	SHA256 string `json:"sha256"`
}

// maxTrustList is the largest list that is read, in bytes.
const maxTrustList = 4 << 20

// trustVersion is the version of the list's form.
const trustVersion = 1

type trustList struct {
	Version int           `json:"version"`
	Files   []TrustedFile `json:"files"`
}

// Trusted reports whether the file may run with this content.
func (t Trust) Trusted(file string, data []byte) bool {
	if !filepath.IsAbs(file) {
		return false
	}
	file = filepath.Clean(file)
	sum := hash(data)
	return slices.ContainsFunc(t.List(), func(f TrustedFile) bool { return samePath(f.Path, file) && f.SHA256 == sum })
}

// Add trusts a file with this content, in place of any other content.
func (t Trust) Add(file string, data []byte) error {
	if !filepath.IsAbs(file) {
		return fmt.Errorf("trust %q: want an absolute path", file)
	}
	file = filepath.Clean(file)
	_, err := t.replace(file, TrustedFile{Path: file, SHA256: hash(data)})
	return err
}

// Remove removes a file from the list, and reports whether it was there.
func (t Trust) Remove(file string) (bool, error) { return t.replace(filepath.Clean(file)) }

// replace puts entries in place of a file's, and reports whether it had one.
func (t Trust) replace(file string, with ...TrustedFile) (had bool, err error) {
	if _, err := os.Lstat(t.Path); errors.Is(err, fs.ErrNotExist) && len(with) == 0 {
		return false, nil
	}
	unlock, err := lockFolder(filepath.Dir(t.Path), 0o700)
	if err != nil {
		return false, fmt.Errorf("list of trusted hooks files %q: %w", t.Path, err)
	}
	defer unlock()
	list, err := t.read()
	if err != nil {
		return false, err
	}
	n := len(list.Files)
	list.Files = slices.DeleteFunc(list.Files, func(f TrustedFile) bool { return samePath(f.Path, file) })
	had = len(list.Files) < n
	if !had && len(with) == 0 {
		return false, nil
	}
	list.Files = append(list.Files, with...)
	return had, t.write(list)
}

// List returns the entries, ordered by path.
func (t Trust) List() []TrustedFile {
	list, err := t.read()
	if err != nil {
		return nil
	}
	return list.Files
}

// State reports whether a listed file is "trusted", "changed" since, or "missing".
func (t Trust) State(f TrustedFile) string {
	data, err := regular.Read(f.Path, regular.Options{Max: MaxSize, NoLink: true})
	var other *regular.Error
	switch {
	case errors.As(err, &other):
		return "changed" // another kind of file is in its place
	case err != nil:
		return "missing"
	case f.SHA256 != hash(data):
		return "changed"
	}
	return "trusted"
}

// lockTime is how long to wait for another process's change.
const lockTime = 10 * time.Second

// lockFolder makes a folder and keeps other hookspans from changing files in it.
func lockFolder(dir string, mode fs.FileMode) (unlock func(), err error) {
	if err := atomicfile.MakeFolders(dir, mode); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockTime)
	defer cancel()
	lock, err := filelock.Folder(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("lock folder %q: %w", dir, err)
	}
	return func() { _ = lock.Close() }, nil
}

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// read returns an empty list for an absent and for a damaged file. A newer version
// is an error: to write the list would lose it.
func (t Trust) read() (trustList, error) {
	empty := trustList{Version: trustVersion}
	data, err := regular.Read(t.Path, regular.Options{Max: maxTrustList})
	if errors.Is(err, fs.ErrNotExist) {
		return empty, nil
	}
	if err != nil {
		return empty, fmt.Errorf("list of trusted hooks files %q: %w", t.Path, err)
	}
	var list trustList
	switch err := json.Unmarshal(data, &list); {
	case err != nil || list.Version < trustVersion:
		return empty, nil
	case list.Version > trustVersion:
		return empty, fmt.Errorf("list of trusted hooks files %q: version %d, this hookspan reads up to %d: use the newer hookspan", t.Path, list.Version, trustVersion)
	}
	list.sort()
	return list, nil
}

func (l trustList) sort() {
	slices.SortFunc(l.Files, func(a, b TrustedFile) int { return strings.Compare(a.Path, b.Path) })
}

func (t Trust) write(list trustList) error {
	list.sort()
	data, err := json.MarshalIndent(list, "", "  ")
	if err == nil {
		err = atomicfile.Write(t.Path, append(data, '\n'), atomicfile.Options{})
	}
	if err != nil {
		return fmt.Errorf("list of trusted hooks files %q: %w", t.Path, err)
	}
	return nil
}
