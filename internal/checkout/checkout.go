// Package checkout reads which repository, branch and commit a folder belongs to, and what was
// checked out before, from Git's own files: HEAD, its log, references and config in the folder's
// .git. Git is not started, nothing is written, and what is missing, large, of another user or in
// another form counts as nothing.
//
// It does not promise what git would print: files that config includes, and rewritten
// addresses, are not followed.
package checkout

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hookspan/hookspan/internal/files/regular"
)

const (
	// maxHead and maxConfig are the largest files that are read, in bytes.
	maxHead, maxConfig = 4 << 10, 128 << 10
	// maxDepth is how many folders above the given one may hold .git.
	maxDepth = 40
)

// find returns the nearest folder with a .git, and the folder that this is or names, "" if that
// cannot be read. Both are empty where no folder has one.
func find(dir string) (top, git string) {
	for range maxDepth {
		path := filepath.Join(dir, ".git")
		if info, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			switch {
			case err != nil:
			case info.IsDir():
				git = path
			case info.Mode().IsRegular():
				if to, ok := strings.CutPrefix(line(path), "gitdir: "); ok {
					git = absolute(dir, to)
				}
			}
			if !local(git) || !ours(git) {
				git = ""
			}
			return dir, git
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", ""
		}
		dir = up
	}
	return dir, ""
}

// local refuses relative paths, and those of another machine: only to look at one can
// send a credential there.
func local(path string) bool { return filepath.IsAbs(path) && !remotely(path) }

// remotely reports that a path begins with two slashes of any kind.
func remotely(path string) bool { return len(path)-len(strings.TrimLeft(path, `/\`)) > 1 }

func absolute(dir, path string) string {
	if remotely(path) {
		return ""
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return filepath.Clean(path)
}

// line returns a short file's only line.
func line(path string) string {
	data, err := regular.Read(path, regular.Options{Max: maxHead, NoLink: true})
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// remote returns the address of origin, or of the first remote.
func remote(config string) (first string) {
	section := ""
	for text := range strings.Lines(config) {
		text = strings.TrimSpace(text)
		if strings.HasPrefix(text, "[") {
			section, _, _ = strings.Cut(text, "]")
			continue
		}
		name, value, ok := strings.Cut(text, "=")
		if !ok || !strings.EqualFold(strings.TrimSpace(name), "url") || !strings.HasPrefix(strings.ToLower(section), "[remote ") {
			continue
		}
		value = strings.Trim(strings.TrimSpace(value), `"`)
		if strings.HasSuffix(section, ` "origin"`) {
			return value
		}
		if first == "" {
			first = value
		}
	}
	return first
}
