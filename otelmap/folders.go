package otelmap

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// PathNames are the members of calls' inputs that are the path of a file or a list of some.
var PathNames = []string{"file_path", "filePath", "absolute_path", "absolutePath", "path", "notebook_path", "paths", "files"}

// placeNames are those and the folders: a file comes before the folder that a command works in.
var placeNames = slices.Concat(PathNames, []string{"dir_path", "dirPath", "workdir", "cwd"})

// maxPath bounds a path, in bytes.
const maxPath = 4 << 10

// inputPath returns the first path in a call's input, "." if it is a command, which works
// in the agent's folder, and "" without either.
func inputPath(input string) string {
	o := rawjson.Members([]byte(input))
	for text := range rawjson.Strings(o.Get(placeNames...)) {
		return text[:min(len(text), maxPath)]
	}
	command := o.Get("command", "commands", "cmd", "input", "patch")
	if _, patch, ok := strings.Cut(string(command), "*** Begin Patch"); ok {
		_, file, _ := strings.Cut(patch, " File: ")
		file, _, _ = strings.Cut(file, `\n`)
		return file
	}
	for text := range rawjson.Strings(command) {
		if dir, ok := strings.CutPrefix(strings.TrimSpace(text), "cd "); ok {
			if dir = firstWord(dir); strings.ContainsAny(dir, "$`%") || strings.HasPrefix(dir, "-") {
				return "" // only the shell knows, as of cd -
			}
			return dir
		}
	}
	if o.Get("command", "commands", "cmd") == nil {
		return ""
	}
	return "."
}

// firstWord returns the first word of a shell's line, which may be quoted.
func firstWord(line string) string {
	line = strings.TrimLeft(line[:min(len(line), maxPath)], " ")
	if line != "" && (line[0] == '"' || line[0] == '\'') {
		word, _, _ := strings.Cut(line[1:], line[:1])
		return word
	}
	line = strings.ReplaceAll(line, `\ `, "\x00")
	if end := strings.IndexAny(line, " \t\n;&|"); end >= 0 {
		line = line[:end]
	}
	return strings.ReplaceAll(line, "\x00", " ")
}

// workspace returns the folders of the run's workspace, by the hooks and the host's files,
// the main one first.
func (j *joined) workspace() (out []string) {
	last := ""
	for it := range j.run.all {
		if it.Folders != last {
			last = it.Folders
			out = hook.Union(out, strings.Split(last, "\x00"))
		}
	}
	out, seen := hook.Union(out, j.tr.Folders), make(map[string]bool)
	return slices.DeleteFunc(out, func(dir string) bool {
		key := FolderKey(strings.TrimRight(dir, "/"))
		again := seen[key]
		seen[key] = true
		return again
	})
}

// folder returns the innermost of the workspace's folders that the path in a call's input
// is in, "" if it is in none, or the workspace has one.
func (j *joined) folder(c *call) (found string) {
	it := c.event()
	where := it.Tool.path
	if c.pre != nil {
		it = c.pre // its folder is that before the call
		where = cmp.Or(where, it.Tool.path)
	}
	if where == "" || len(j.folders) < 2 || where[0] == '~' {
		return ""
	}
	// Cline names a folder of the workspace by its last part.
	if name, rest, ok := strings.Cut(where, ":"); ok && strings.HasPrefix(name, "@") {
		for _, dir := range j.folders {
			if dir[strings.LastIndexAny(dir, `/\`)+1:] == name[1:] {
				where = dir + "/" + rest
			}
		}
	}
	if !strings.HasPrefix(where, "/") && !OnDrive(where) {
		where = it.Cwd + "/" + where
	}
	if OnDrive(where) {
		where = where[:2] + strings.ReplaceAll(where[2:], `\`, "/")
	}
	where = path.Clean(where)
	for _, dir := range j.folders {
		if len(dir) > len(found) && Below(where, dir) {
			found = dir
		}
	}
	return found
}

// OnDrive reports whether a path begins with the letter of a drive of Windows.
func OnDrive(path string) bool {
	return len(path) > 2 && path[1] == ':' && (path[2] == '\\' || path[2] == '/') && 'a' <= path[0]|0x20 && path[0]|0x20 <= 'z'
}

// Folder returns one spelling of a folder on a drive of Windows: C:\X for c:/X/ too. Any
// other path stays as it is. The case of the names is kept; where folders are compared,
// it does not count.
func Folder(path string) string {
	if !OnDrive(path) {
		return path
	}
	rest := strings.TrimRight(strings.ReplaceAll(path[3:], "/", `\`), `\`)
	return strings.ToUpper(path[:1]) + `:\` + rest
}

// FolderKey is the same for all spellings of a folder.
func FolderKey(path string) string {
	if path = Folder(path); OnDrive(path) {
		return strings.ToLower(path)
	}
	return path
}

// Below reports whether a path is the folder dir or below it.
func Below(path, dir string) bool {
	path, dir = FolderKey(path), FolderKey(dir)
	if len(dir) > 1 {
		dir = strings.TrimRight(dir, `/\`)
	}
	rest, ok := strings.CutPrefix(path, dir)
	return ok && (rest == "" || rest[0] == '/' || rest[0] == '\\' || dir == "/")
}

// checkedOut is what an agent's worktree had checked out at a time: as was found when the run was
// delivered, else by the host's files.
func (j *joined) checkedOut(agent string, at time.Time) hook.Repository {
	c, ok := j.checkouts.At(agent, at)
	found := c.Repository
	if by, said := j.tr.Checkouts.At(agent, at); said && (!ok || c.Unknown) {
		found = by.Repository
		found.Name, found.URL = cmp.Or(c.Repository.Name, found.Name), cmp.Or(c.Repository.URL, found.URL)
	}
	return found
}

// elsewhere reports that a branch or its repository, where that is known, is not the one at the run's end.
func (j *joined) elsewhere(r *hook.Repository) bool {
	return r.Branch != j.place.Branch || r.Name != "" && (r.Name != j.place.Name || r.URL != j.place.URL)
}

// unplaced reports that a host's sum over requests that have no span may have some that were made
// on another branch than the run's last one.
func (j *joined) unplaced(c *hook.Request) bool {
	if c.Kind == hook.RequestSingle || c.Kind == hook.RequestsUnlisted {
		return c.Kind == hook.RequestsUnlisted
	}
	other := func(c hook.Checkout) bool {
		return (c.Unknown || j.elsewhere(&c.Repository)) && c.At.After(j.start) && !c.At.After(j.end)
	}
	first := j.checkedOut("", j.start)
	return j.elsewhere(&first) || slices.ContainsFunc(j.checkouts, other) || slices.ContainsFunc(j.tr.Checkouts, other)
}
