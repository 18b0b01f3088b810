//go:build !windows

package record

import "syscall"

// become replaces this process by another program. It returns only if that fails.
func become(path string, argv, environ []string) error {
	return syscall.Exec(path, argv, environ) //nolint:gosec // hookspan itself, found beside this program.
}
