// Package logfile appends lines to hookspan's log, which several processes
// write at once. A line is one write, so that lines never mix; the log is cut
// to its newest part when it has grown too large. Failing to log is silent:
// there is nobody left to tell.
package logfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// maxSize is the size in bytes beyond which a log is moved to a second file,
// replacing the one before.
const maxSize = 1 << 20

// Log appends to one file.
type Log struct {
	// Path is the file; empty drops every line.
	Path string
	// Who names the writing program.
	Who string
	// Now is the clock; if nil, time.Now.
	Now func() time.Time
}

// Line appends one line. Control characters in it are replaced, since what is
// logged may quote a payload.
func (l Log) Line(text string) {
	if l.Path == "" {
		return
	}
	now := time.Now
	if l.Now != nil {
		now = l.Now
	}
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, text)
	line := now().UTC().Format("2006-01-02T15:04:05.000Z") + " " + l.Who + ": " + text + "\n"
	info, err := os.Lstat(l.Path)
	if err == nil {
		if !info.Mode().IsRegular() {
			return
		}
		if info.Size() > maxSize {
			_ = os.Rename(l.Path, l.Path+".1")
		}
	} else if makeDir(filepath.Dir(l.Path)) != nil {
		return
	}
	f, openErr := os.OpenFile(l.Path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if openErr != nil {
		return
	}
	if err != nil {
		// The umask may have taken what the next line needs.
		_ = f.Chmod(0o600)
	}
	_, _ = f.WriteString(line)
	_ = f.Close()
}

// makeDir makes a folder and those above it for the user alone, whatever the
// umask: what it takes, the next step needs.
func makeDir(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if parent := filepath.Dir(dir); parent != dir {
		if err := makeDir(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return nil // by another process
		}
		return err
	}
	return os.Chmod(dir, 0o700) //nolint:gosec // A folder.
}
