package record

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

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
	dir = filepath.Clean(dir)
	near := dir
	if at, err := syscall.Getwd(); err == nil && at == dir {
		near = "." // its parents are found faster from here, and its name has no links
	} else if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir, near = real, real
	}
	folder := near
	read := func(path string) ([]byte, error) {
		data, err := readProject(path)
		if err == nil && !trusted(path, folder) {
			err = fs.ErrPermission
		}
		return data, err
	}
	for range levels(dir, near) {
		if config.ProjectDisabled(read, near) {
			return filepath.Join(dir, ".hookspan.env")
		}
		dir, near = filepath.Dir(dir), filepath.Join(near, "..")
	}
	return ""
}

// levels is how many folders there are from dir, which near names as well, to the root of
// its repository; 1 outside of one.
func levels(dir, near string) int {
	for n := 1; ; n++ {
		if _, err := os.Lstat(filepath.Join(near, ".git")); err == nil {
			return n
		}
		if dir == filepath.Dir(dir) {
			return 1
		}
		dir, near = filepath.Dir(dir), filepath.Join(near, "..")
	}
}

// readProject reads a project's settings. It follows no link, which could lead
// anywhere.
func readProject(path string) ([]byte, error) {
	return regular.Read(path, regular.Options{Max: maxSettings, NoLink: true})
}
