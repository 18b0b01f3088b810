package install

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// EditFile changes one of the user's files in one instant, through a symbolic
// link if it is one. edit gets the text, nil where there is no file, and returns
// the new one; an equal one, or an error, leaves the file as it is. Before the
// first change the text is kept under backup, the path with
// ".hookspan-backup" behind; backup is empty where there was no file.
func EditFile(path string, edit func(old []byte) ([]byte, error)) (changed bool, backup string, err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return false, "", fmt.Errorf("settings folder: %w", err)
	}
	unlock, err := lockDir(dir)
	if err != nil {
		return false, "", fmt.Errorf("settings folder %q: %w", dir, err)
	}
	defer func() { err = errors.Join(err, unlock()) }()
	cur, err := readSettings(path)
	if err != nil {
		return false, "", err
	}
	e := SettingsEdit{Path: path, target: cur.target, mode: 0o600, Scope: ScopeUser}
	if cur.exists {
		e.Before, e.mode, e.Backup = append([]byte{}, cur.data...), cur.mode, path+".hookspan-backup"
	}
	after, err := edit(e.Before)
	if err != nil {
		return false, "", err
	}
	if same(e.Before, after) || after == nil {
		return false, "", nil
	}
	e.After = after
	// Somebody else's editor takes no lock.
	again, err := readSettings(path)
	if err != nil {
		return false, "", err
	}
	if again.exists != cur.exists || string(again.data) != string(cur.data) {
		return false, "", fmt.Errorf("settings %q: %w: nothing was done to it, run it again", path, ErrChanged)
	}
	if err := e.keepBackup(); err != nil {
		return false, "", err
	}
	if err := e.write(); err != nil {
		if errors.Is(err, fs.ErrPermission) {
			return false, "", fmt.Errorf("settings %q: %w: make it yours to write", path, err)
		}
		return false, "", fmt.Errorf("settings %q: %w", path, err)
	}
	return true, e.Backup, nil
}
