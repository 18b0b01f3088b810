package deliver

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hookspan/hookspan/internal/checkout"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// gitCall is a call that ran commands of git or printed commits.
type gitCall struct {
	call checkout.Call
	// end is the hash of the event of the call's end.
	end uint64
	// id is the call's; ok reports that its hook says that it has succeeded.
	id string
	ok bool
	// dirs are the folders that the command may have worked in. It is certainly the only one
	// if call.Command is not empty.
	dirs []string
}

// maxCommand is how much of a command is searched for those of git, in bytes, and maxDirs how many
// folders it may name.
const (
	maxCommand = 4 << 10
	maxDirs    = 4
)

// goes matches what takes a command, or git, to another folder.
var goes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:^|[\s;&|(])(cd|git +-C) +("[^"]*"|'[^']*'|[^\s;&|()"']+)`)
})

// elsewhere reports that commands may work in a folder that only the shell knows.
func elsewhere(text string) bool {
	return slices.ContainsFunc([]string{"cd ", "cd\t", "pushd", "popd", "chdir", "env ", "ssh ", "docker ", "GIT_", "--git-dir", "--work-tree", " -C"}, func(s string) bool { return strings.Contains(text, s) })
}

// place notes the command in a call's input, and where it works that is called in a folder.
func (c *gitCall) place(cwd, input string) {
	o := rawjson.Members([]byte(input))
	for dir := range rawjson.Strings(o.Get("workdir", "cwd", "dir_path", "dirPath", "directory")) {
		cwd = inFolder(cwd, dir)
		break
	}
	var commands []string
	for text := range rawjson.Strings(o.Get("command", "commands", "cmd")) {
		commands = append(commands, text)
	}
	if n := len(commands); n == 3 && strings.HasPrefix(commands[1], "-") && strings.HasSuffix(commands[1], "c") {
		commands = commands[2:] // a shell's
	}
	text := strings.TrimSpace(strings.Join(commands, "\n"))
	text = text[:min(len(text), maxCommand)]
	c.dirs = []string{cwd}
	var found [][]int
	cds := 0
	if elsewhere(text) {
		found = goes().FindAllStringSubmatchIndex(text, maxDirs+1)
	}
	more := len(found) > maxDirs
	found = found[:min(len(found), maxDirs)]
	for _, m := range found {
		dir := strings.Trim(text[m[4]:m[5]], `"'`)
		pieces := m[5] < len(text) && !strings.ContainsRune(" \t\r\n;&|)", rune(text[m[5]])) || strings.HasSuffix(dir, "\\")
		if strings.ContainsAny(dir, "$`%*?~") || dir == "-" || pieces {
			return // only the shell knows
		}
		c.dirs = append(c.dirs, inFolder(cwd, dir))
		if text[m[2]:m[3]] == "cd" {
			cwd = inFolder(cwd, dir)
			cds++
		}
	}
	rest := text
	dirs := slices.Compact(slices.Clone(c.dirs[1:]))
	switch {
	case len(found) == 0 || len(dirs) > 1 || len(found) > 1 && cds > 0:
	case cds == 0: // each command of git has it
		rest = goes().ReplaceAllString(text, " ")
		if strings.Contains(rest, "git") {
			return
		}
	case found[0][0] == 0:
		if rest = strings.TrimLeft(text[found[0][5]:], " "); !strings.HasPrefix(rest, "&&") {
			return
		}
	}
	if len(text) < maxCommand && !more && !elsewhere(rest) {
		c.call.Command, c.dirs = text, c.dirs[len(c.dirs)-1:]
	}
}

// inFolder returns a path as it is from a folder.
func inFolder(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}
