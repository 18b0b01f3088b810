package store

import "strings"

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
