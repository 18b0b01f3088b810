package install

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// ApplyClaude carries out a plan. Each settings file is read once more before it
// is touched, and the error is ErrChanged when it is neither as planned nor
// already as the plan would leave it. A file changes in one instant; a reader
// sees the old text or the new one.
func ApplyClaude(p *ClaudePlan) error {
	if len(p.Settings) == 0 {
		return nil
	}
	stateCreated, unlock, err := lockState(p.stateDir, p.uninstall)
	if err != nil {
		return fmt.Errorf("state folder %q: %w", p.stateDir, err)
	}
	return errors.Join(p.apply(stateCreated), unlock())
}

func (p *ClaudePlan) apply(stateCreated []string) error {
	if !p.uninstall {
		// Noted first, so that an install cut short is undone too.
		if err := p.remember(stateCreated); err != nil {
			return err
		}
	}
	for i := range p.Settings {
		if err := p.Settings[i].apply(p.uninstall); err != nil {
			return fmt.Errorf("settings %q: %w", p.Settings[i].Path, err)
		}
	}
	if p.uninstall {
		return p.forget()
	}
	return nil
}

// remember records the files for the uninstall.
func (p *ClaudePlan) remember(stateCreated []string) error {
	if p.stateDir == "" {
		return nil
	}
	m, err := readManifest(p.stateDir)
	if err != nil {
		return err
	}
	m.StateCreated = union(m.StateCreated, stateCreated)
	for _, e := range p.Settings {
		m.addSettings(e.record)
	}
	return m.write(p.stateDir)
}

// forget takes the files off the record, and the folders that installing
// created, where nothing else is in them.
func (p *ClaudePlan) forget() error {
	var gone []string
	for _, e := range p.Settings {
		for _, dir := range slices.Backward(e.record.Created) {
			gone = append(gone, dir)
		}
	}
	if p.stateDir != "" {
		m, err := readManifest(p.stateDir)
		if err != nil {
			return err
		}
		for _, e := range p.Settings {
			m.dropSettings(e.Path)
		}
		for _, e := range p.Settings {
			m.inherit(e.record)
		}
		if err := m.write(p.stateDir); err != nil {
			return err
		}
		if m.bare() {
			for _, dir := range slices.Backward(m.StateCreated) {
				gone = append(gone, dir)
			}
		}
	}
	for _, dir := range gone {
		if err := removeEmpty(dir); err != nil {
			return fmt.Errorf("remove folder %q: %w", dir, err)
		}
	}
	return nil
}

// apply changes one file, or does nothing if it is done already.
func (e *SettingsEdit) apply(undo bool) error {
	cur, err := e.file.read()
	if err != nil {
		return err
	}
	data := cur.data
	if !cur.exists {
		data = nil
	}
	done := same(data, e.After)
	if !done && (!same(data, e.Before) || cur.target != e.target) {
		return fmt.Errorf("%w: nothing was done to it, run it again", ErrChanged)
	}
	if !undo {
		if done {
			return nil
		}
		if err := e.keepBackup(); err != nil {
			return err
		}
		return e.write()
	}
	if !done {
		if err := e.write(); err != nil {
			return err
		}
	}
	if e.Backup == "" {
		return nil
	}
	if err := os.Remove(e.Backup); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove backup: %w", err)
	}
	return nil
}

// same compares bytes, and tells an empty file from none.
func same(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

// keepBackup copies the file as it is. A copy that is there already is of an
// earlier state, which is worth more.
func (e *SettingsEdit) keepBackup() error {
	if e.Backup == "" {
		return nil
	}
	if err := writeNew(e.Backup, e.Before, 0o600); err != nil && !errors.Is(err, ErrChanged) {
		return fmt.Errorf("backup %q: %w", e.Backup, err)
	}
	return nil
}

func (e *SettingsEdit) write() error {
	if e.After == nil {
		return os.Remove(e.target)
	}
	if e.Before == nil {
		mode := fs.FileMode(0o755)
		if e.Scope == ScopeUser {
			mode = 0o700
		}
		if err := os.MkdirAll(filepath.Dir(e.target), mode); err != nil {
			return err
		}
		return writeNew(e.target, e.After, e.mode)
	}
	return replace(e.target, e.After, e.mode)
}
