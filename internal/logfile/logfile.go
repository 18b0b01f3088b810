// Package logfile appends lines to hookspan's log, which several processes
// write at once. A line is one write, so that lines never mix; the log is cut
// to its newest part when it has grown too large. Failing to log is silent:
// there is nobody left to tell.
package logfile

import (
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/hookspan/hookspan/internal/regular"
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

// Line appends one line. Control characters in it are replaced, and those that
// hide text or turn it round, since what is logged may quote a payload.
func (l Log) Line(text string) {
	if l.Path == "" {
		return
	}
	now := time.Now
	if l.Now != nil {
		now = l.Now
	}
	text = strings.Map(func(r rune) rune {
		if (r < ' ' || r > '~') && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return ' '
		}
		return r
	}, text)
	line := now().UTC().Format("2006-01-02T15:04:05.000Z") + " " + l.Who + ": " + text + "\n"
	if info, err := os.Lstat(l.Path); err == nil {
		if info.Mode().IsRegular() && info.Size() > maxSize {
			_ = os.Rename(l.Path, l.Path+".1")
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
