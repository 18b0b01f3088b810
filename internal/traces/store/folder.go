package store

import (
	"path/filepath"
	"strings"
)

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

// folderKey is the same for all spellings of a folder.
func folderKey(path string) string {
	if path = Folder(path); OnDrive(path) {
		return strings.ToLower(path)
	}
	return path
}

// Resolved returns a folder's path on this machine without symbolic links, "" if none of it
// is there. A folder that is gone may have been below a link.
func Resolved(path string) string {
	for up, rest := path, ""; ; up, rest = filepath.Dir(up), filepath.Join(filepath.Base(up), rest) {
		if target, err := filepath.EvalSymlinks(up); err == nil {
			return filepath.Join(target, rest)
		} else if up == filepath.Dir(up) {
			return ""
		}
	}
}
