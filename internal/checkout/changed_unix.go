//go:build linux || darwin

package checkout

import (
	"io/fs"
	"syscall"
	"time"
)

// changed is when a file was last written, by a time that no program can set.
func changed(info fs.FileInfo) time.Time {
	at := info.ModTime()
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		if c := time.Unix(ctime(st).Unix()); c.After(at) {
			return c
		}
	}
	return at
}
