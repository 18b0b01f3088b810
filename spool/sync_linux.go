package spool

import (
	"os"
	"syscall"
)

// syncData makes the file's bytes and its length durable.
func syncData(f *os.File) error {
	return syncable(control(f, func(fd uintptr) error { return syscall.Fdatasync(int(fd)) }))
}
