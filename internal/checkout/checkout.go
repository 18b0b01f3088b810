// Package checkout reads which repository and branch a folder belongs to, from Git's own
// files: HEAD and config of the folder's .git. Git is not started, nothing is written,
// and what is missing, large, of another user or in another form counts as nothing.
//
// It does not promise what git would print: files that config includes, and rewritten
// addresses, are not followed.
package checkout

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/files/regular"
)

const (
	// maxHead and maxConfig are the largest files that are read, in bytes.
	maxHead, maxConfig = 4 << 10, 128 << 10
	// maxDepth is how many folders above the given one may hold .git.
	maxDepth = 40
)

// Read returns what the repository of a folder says, or nothing.
func Read(dir string) hook.Repository {
	if !local(dir) {
		return hook.Repository{}
	}
	top, git := find(filepath.Clean(dir))
	if git == "" {
		return hook.Repository{}
	}
	common, main := shared(git)
	top = cmp.Or(main, top)
	if !local(common) || !ours(common) {
		return hook.Repository{}
	}
	head := line(filepath.Join(git, "HEAD"))
	config, err := regular.Read(filepath.Join(common, "config"), regular.Options{Max: maxConfig, NoLink: true})
	if head == "" || err != nil {
		return hook.Repository{}
	}
	r := hook.Repository{}
	// With reftable, HEAD is not in this file, which names no branch that can be.
	if branch, ok := strings.CutPrefix(head, "ref: refs/heads/"); ok && branch != ".invalid" {
		r.Branch = hook.PlainWord(branch)
	}
	r.Name, r.URL = hook.RepositoryAt(remote(string(config)))
	if r.Name == "" {
		r.Name = hook.PlainWord(strings.TrimSuffix(filepath.Base(top), ".git"))
	}
	return r
}

// shared returns what the worktrees of a repository have in common, and the main one's folder or
// the bare repository, "" outside a linked worktree. Such a one has a HEAD of its own.
func shared(git string) (common, main string) {
	text := line(filepath.Join(git, "commondir"))
	if text == "" {
		return git, ""
	}
	common = absolute(git, text)
	if strings.HasPrefix(filepath.Base(common), ".") { // else a bare repository
		return common, filepath.Dir(common)
	}
	return common, common
}

// Worktrees returns the folders of all worktrees of the repository that a folder is in, that
// which the folder is in first, or nil if it is in none. The folder has no symbolic links. A
// worktree and its repository name each other: a file of an archive alone adds no folder.
func Worktrees(dir string) (tops []string) {
	top, git := "", ""
	if local(dir) {
		top, git = find(filepath.Clean(dir))
	}
	if git == "" {
		return nil
	}
	common, main := shared(git)
	tops, member := []string{top}, git == filepath.Join(top, ".git")
	entries, _ := os.ReadDir(filepath.Join(common, "worktrees"))
	for _, entry := range entries {
		of := filepath.Join(common, "worktrees", entry.Name())
		tree := filepath.Dir(absolute(of, line(filepath.Join(of, "gitdir"))))
		to, _ := strings.CutPrefix(line(filepath.Join(tree, ".git")), "gitdir: ")
		switch {
		case !ours(common) || absolute(tree, to) != of:
		case tree == top:
			tops, member = append(tops, main), true
		default:
			tops = append(tops, tree)
		}
	}
	if !member {
		return tops[:1]
	}
	return tops
}

// find returns the nearest folder with a .git, and the folder that this is or names.
func find(dir string) (top, git string) {
	for range maxDepth {
		path := filepath.Join(dir, ".git")
		if info, err := os.Lstat(path); err == nil {
			switch {
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
			break
		}
		dir = up
	}
	return "", ""
}

// local refuses relative paths, and those of another machine: only to look at one can
// send a credential there.
func local(path string) bool {
	return filepath.IsAbs(path) && !strings.HasPrefix(path, `\\`) && !strings.HasPrefix(path, "//")
}

func absolute(dir, path string) string {
	if strings.HasPrefix(path, `\\`) || strings.HasPrefix(path, "//") {
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
