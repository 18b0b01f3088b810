//go:build windows

package install

import (
	"errors"

	"golang.org/x/sys/windows"
)

// isNotDir reports an error about a file that stands where a folder should.
func isNotDir(err error) bool { return errors.Is(err, windows.ERROR_DIRECTORY) }

// mayWrite has no cheap answer on Windows; Apply finds out.
func mayWrite(string) error { return nil }
