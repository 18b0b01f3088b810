//go:build windows

package install

import (
	"errors"

	"golang.org/x/sys/windows"
)

// IsNotDir reports an error about a file in the place of a folder.
func IsNotDir(err error) bool { return errors.Is(err, windows.ERROR_DIRECTORY) }

// mayWrite has no cheap answer on Windows; Apply finds out.
func mayWrite(string) error { return nil }
