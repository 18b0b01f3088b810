//go:build !linux

package main

// apartReason says why the two sides cannot have a core each.
func apartReason() string { return "cores are given to processes on Linux alone" }

// pinned runs start.
func pinned(_ int, start func() error) error { return start() }
