//go:build !windows

package main

import (
	"io/fs"
	"syscall"
)

// blocks is the room a file takes on the disk.
func blocks(info fs.FileInfo) int64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Blocks * 512
	}
	return info.Size()
}
