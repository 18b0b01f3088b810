package otelmap

import (
	"path"
	"strings"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// pathNames are the members of calls' inputs that are a path or a list of some. A file
// comes before the folder that a command works in.
var pathNames = []string{
	"file_path", "filePath", "absolute_path", "absolutePath", "path", "notebook_path", "paths", "files", "dir_path", "dirPath", "workdir", "cwd",
}

// maxPath is the length in bytes above which a text is no path.
const maxPath = 4 << 10

// patchHeaders precede the paths in a patch.
var patchHeaders = []string{"*** Update File: ", "*** Add File: ", "*** Delete File: "}

// inputPath returns the first path in a call's input, "." if it is a command, which works
// in the agent's folder, and "" without either.
func inputPath(input string) string {
	o := rawjson.Members([]byte(input))
	for text := range rawjson.Strings(o.Get(pathNames...)) {
		if len(text) > maxPath {
			return ""
		}
		return text
	}
	command := o.Get("command", "commands", "cmd")
	for _, header := range patchHeaders {
		if _, rest, ok := strings.Cut(string(o.Get("input", "patch", "command")), header); ok {
			return before(rest, `\n`, `\r`, `"`)
		}
	}
	for text := range rawjson.Strings(command) {
		if to, ok := strings.CutPrefix(strings.TrimSpace(text), "cd "); ok {
			return strings.Trim(before(to, "&&", ";", "\n"), ` "'`)
		}
	}
	if command == nil {
		return ""
	}
	return "."
}

// before returns what precedes the first of the separators.
func before(s string, separators ...string) string {
	for _, sep := range separators {
		s, _, _ = strings.Cut(s, sep)
	}
	return s
}

// workspace returns the folders of the run's workspace, by the hooks and the host's files,
// the main one first.
func (m *mapping) workspace() (out []string) {
	last := ""
	for it := range m.run.all {
		if it.Folders != last {
			last = it.Folders
			out = hook.Union(out, strings.Split(last, "\x00"))
		}
	}
	return hook.Union(out, m.tr.Folders)
}

// folder returns the innermost of the workspace's folders that the path in a call's input
// is in, "" if it is in none, or the workspace has one.
func (m *mapping) folder(c *call) (found string) {
	it := c.event()
	where := it.Tool.path
	if where == "" && c.pre != nil {
		where = c.pre.Tool.path
	}
	if where == "" || len(m.folders) < 2 {
		return ""
	}
	// Cline names a folder of the workspace by its last part.
	if name, rest, ok := strings.Cut(where, ":"); ok && strings.HasPrefix(name, "@") {
		for _, dir := range m.folders {
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
	for _, dir := range m.folders {
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
