// Package ramdir gives tests folders in memory, where the system has such, for tests that
// replace many files durably: on a disk they mostly wait for it. Programs may not be
// executable there.
package ramdir

import "os"

// T is what a folder needs of a test, also of one that package rapid draws.
type T interface {
	Cleanup(f func())
	Fatal(args ...any)
}

// New is a folder that is removed at the end of the test.
func New(t T) string {
	dir, err := os.MkdirTemp("/dev/shm", "hookspan-")
	if err != nil {
		dir, err = os.MkdirTemp("", "hookspan-")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
