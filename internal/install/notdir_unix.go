//go:build !windows

package install

import (
	"errors"

	"golang.org/x/sys/unix"
)

// IsNotDir reports an error about a file in the place of a folder.
func IsNotDir(err error) bool { return errors.Is(err, unix.ENOTDIR) }

// mayWrite checks that files may be created in dir, without creating one.
func mayWrite(dir string) error { return unix.Access(dir, unix.W_OK|unix.X_OK) }
