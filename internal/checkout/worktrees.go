package checkout

import (
	"os"
	"path/filepath"
	"strings"
)

// shared returns what the worktrees of a repository have in common, and the main one's folder or
// the bare repository, "" outside a linked worktree, which has its own HEAD.
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
