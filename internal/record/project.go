package record

import (
	"io/fs"
	"os"
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

// PrivateBy returns the folder of the user's private ones (config.Config.PrivateFolders) that a
// directory is in, or nothing. Either may be named by symbolic links.
func PrivateBy(folders []string, dir string) (folder string) {
	for _, folder = range folders {
		if folder == "/" {
			return folder
		}
	}
	if len(folders) == 0 || !filepath.IsAbs(dir) {
		return ""
	}
	dir = filepath.Clean(dir)
	real := resolved(dir)
	for _, folder = range folders {
		named := filepath.Clean(folder)
		if below(named, dir) || below(named, real) || slices.ContainsFunc(behind(named), func(f string) bool { return below(f, real) }) {
			return folder
		}
	}
	return ""
}

// below reports whether a directory is in a folder, of which parts may have *.
func below(folder, dir string) bool {
	parts := strings.Split(strings.TrimRight(folder, separator), separator)
	in := strings.Split(strings.TrimRight(dir, separator), separator)
	if len(parts) > len(in) {
		return false
	}
	for i, part := range parts {
		if !fits(part, in[i]) {
			return false
		}
	}
	return true
}

const separator = string(filepath.Separator)

// fits reports whether a part of a path is what another with * means. The file systems of
// macOS and Windows make no difference of case.
func fits(pattern, part string) bool {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		pattern, part = strings.ToLower(pattern), strings.ToLower(part)
	}
	texts := strings.Split(pattern, "*")
	last := len(texts) - 1
	rest, ok := strings.CutPrefix(part, texts[0])
	if last == 0 || !ok {
		return pattern == part
	}
	for _, text := range texts[1:last] {
		at := strings.Index(rest, text)
		if at < 0 {
			return false
		}
		rest = rest[at+len(text):]
	}
	return strings.HasSuffix(rest, texts[last])
}

// behind returns where a folder is without symbolic links; of one with * each that is there.
func behind(folder string) (out []string) {
	star := strings.Index(folder, "*")
	if star < 0 {
		return []string{resolved(folder)}
	}
	above := filepath.Dir(folder[:star+1])
	part, rest, _ := strings.Cut(strings.TrimPrefix(folder[len(above):], separator), separator)
	entries, _ := os.ReadDir(above)
	for _, e := range entries {
		if fits(part, e.Name()) {
			out = append(out, behind(filepath.Join(above, e.Name(), rest))...)
		}
	}
	return append(out, filepath.Join(resolved(above), part, rest))
}

// resolved returns a path without symbolic links, also of what is gone.
func resolved(path string) string {
	for up, rest := path, ""; ; up, rest = filepath.Dir(up), filepath.Join(filepath.Base(up), rest) {
		if target, err := filepath.EvalSymlinks(up); err == nil {
			return filepath.Join(target, rest)
		} else if up == filepath.Dir(up) {
			return path
		}
	}
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
