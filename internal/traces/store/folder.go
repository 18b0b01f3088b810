package store

import "path/filepath"

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
