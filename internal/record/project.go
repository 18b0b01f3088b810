package record

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/internal/files/regular"
)

// ProjectOff reports that the project of a folder switches recording off for itself.
func ProjectOff(dir string) bool { return OffBy(dir) != "" }

// PrivateBy returns the one of config.Config.PrivateFolders that a directory is in, by any of its
// names, or nothing.
func PrivateBy(folders []string, dir string) string {
	if i := slices.Index(folders, "/"); i >= 0 {
		return folders[i]
	}
	if len(folders) == 0 || !filepath.IsAbs(dir) {
		return ""
	}
	dir = filepath.Clean(dir)
	real := resolved(dir)
	for _, folder := range folders {
		named := filepath.Clean(folder)
		there, _ := filepath.Glob(literally(named)) // those behind links, too
		if below(named, dir) || slices.ContainsFunc(append(there, named), func(f string) bool { return below(resolved(f), real) }) {
			return folder
		}
	}
	return ""
}

// below reports whether a directory is in a folder, of which parts may have *. The file systems
// of macOS and Windows make no difference of case.
func below(folder, dir string) bool {
	folder, dir = strings.TrimSuffix(filepath.ToSlash(folder), "/"), filepath.ToSlash(dir) // a root ends in /
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		folder, dir = strings.ToLower(folder), strings.ToLower(dir)
	}
	parts, n := strings.Split(dir, "/"), strings.Count(folder, "/")+1
	fits, _ := path.Match(literally(folder), strings.Join(parts[:min(n, len(parts))], "/"))
	return fits
}

// literally is a pattern in which * alone has a meaning.
func literally(pattern string) string {
	return strings.NewReplacer(`\`, `\\`, "[", `\[`, "?", `\?`).Replace(pattern)
}

// resolved returns a path without symbolic links, also of what is gone.
func resolved(path string) string {
	for up, rest := path, ""; up != filepath.Dir(up); up, rest = filepath.Dir(up), filepath.Join(filepath.Base(up), rest) {
		if target, err := filepath.EvalSymlinks(up); err == nil {
			return filepath.Join(target, rest)
		}
	}
	return path
}

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
