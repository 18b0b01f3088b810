// Package filelock locks files and folders against other processes that use the
// package too.
//
// A lock is exclusive, belongs to an open file and ends when that file is closed
// or its process ends, however it ends. On Unix it is flock(2). On Windows it
// covers one byte far behind any content, since no other process can use the bytes
// that a lock covers there; for a folder it is a named event.
//
// The package does not promise exclusion on a file system without locks: there
// every lock is granted. Callers are safe without the lock, if less tidy.
package filelock
