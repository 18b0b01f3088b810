package record

import (
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/internal/files/regular"
)

// ProjectOff reports that the project of a folder switches recording off for itself.
func ProjectOff(dir string) bool { return OffBy(dir) != "" }

// OffBy returns the .hookspan.env that switches recording off in a folder, or nothing: one
// in the folder or above it up to the root of its repository, outside of a repository in
// the folder alone. It belongs to the user, to root, or to whom the folder belongs: nobody
// else can switch recording off by a file in a shared folder above.
func OffBy(dir string) (file string) {
	if !filepath.IsAbs(dir) {
		return ""
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	dir = filepath.Clean(dir)
	read := func(path string) ([]byte, error) {
		data, err := readProject(path)
		if err == nil && !trusted(path, dir) {
			err = fs.ErrPermission
		}
		return data, err
	}
	top := repository(dir)
	for at := dir; ; at = filepath.Dir(at) {
		if config.ProjectDisabled(read, at) {
			return filepath.Join(at, ".hookspan.env")
		}
		if at == top {
			return ""
		}
	}
}

// repository is the root of the repository that a folder is in, or else the folder.
func repository(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			return dir
		}
	}
}

// readProject reads a project's settings. It follows no link, which could lead
// anywhere.
func readProject(path string) ([]byte, error) {
	return regular.Read(path, regular.Options{Max: maxSettings, NoLink: true})
}
