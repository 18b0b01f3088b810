//go:build !windows

package install

import (
	"errors"

	"golang.org/x/sys/unix"
)

// isNotDir reports an error about a file that stands where a folder should.
func isNotDir(err error) bool { return errors.Is(err, unix.ENOTDIR) }

// mayWrite asks whether files may be created in dir, without creating one.
func mayWrite(dir string) error { return unix.Access(dir, unix.W_OK|unix.X_OK) }
