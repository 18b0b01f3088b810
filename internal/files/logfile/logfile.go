// Package logfile appends lines to hookspan's log, which several processes
// write at once. Each line is one write, so lines never mix. A log that has grown
// too large is moved aside and a new one begun. An error is not reported: there
// is no other place to report it.
package logfile

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/hookspan/hookspan/internal/files/filelock"
	"github.com/hookspan/hookspan/internal/files/regular"
	"github.com/hookspan/hookspan/internal/termtext"
)

// maxSize is the size in bytes beyond which a log is moved to a second file,
// which it replaces.
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

// Line appends one line of safe text: what is logged may quote a payload.
func (l Log) Line(text string) {
	if l.Path == "" {
		return
	}
	now := time.Now
	if l.Now != nil {
		now = l.Now
	}
	line := now().UTC().Format("2006-01-02T15:04:05.000Z") + " " + l.Who + ": " + termtext.Line(text) + "\n"
	if info, err := os.Lstat(l.Path); err == nil {
		if info.Mode().IsRegular() && info.Size() > maxSize {
			l.moveAside()
		}
	} else if os.MkdirAll(filepath.Dir(l.Path), 0o700) != nil {
		return
	}
	f, _, err := regular.Open(l.Path, regular.Options{Flag: os.O_WRONLY | os.O_APPEND | os.O_CREATE, Perm: 0o600, NoLink: true})
	if err != nil {
		return
	}
	_, _ = f.WriteString(line)
	_ = f.Close()
}

// moveAside makes the log the second file. Of several processes one does: another, a
// moment later, would replace the log that was moved by the few lines of the new one.
func (l Log) moveAside() {
	f, _, err := regular.Open(l.Path, regular.Options{Flag: os.O_RDWR, NoLink: true})
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }()
	once, stop := context.WithCancel(context.Background())
	stop()
	if filelock.Wait(once, f) != nil {
		return
	}
	named, err := os.Lstat(l.Path)
	opened, err2 := f.Stat()
	if err == nil && err2 == nil && os.SameFile(named, opened) && named.Size() > maxSize {
		_ = os.Rename(l.Path, l.Path+".1")
	}
}
