//go:build !linux && !darwin

package checkout

import (
	"io/fs"
	"time"
)

// changed is when a file was last written.
func changed(info fs.FileInfo) time.Time { return info.ModTime() }
