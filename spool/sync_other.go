//go:build !linux

package spool

import "os"

// syncData makes the file's bytes and its length durable.
func syncData(f *os.File) error { return syncable(f.Sync()) }
