package hookproc

import (
	"fmt"
	"io"
	"os"
)

// maxSettings is the largest file of settings that is read, in bytes. A project
// that somebody else wrote can hold any file under that name.
const maxSettings = 64 << 10

// readProject reads a project's settings: only from a regular file of ordinary
// size, and through no link, which could lead to a device that never ends.
func readProject(path string) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	return readRegular(path, info)
}

// ReadSettings reads the user's own settings, which may be a link.
func ReadSettings(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	return readRegular(path, info)
}

func readRegular(path string, info os.FileInfo) ([]byte, error) {
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: is no regular file", path)
	}
	if info.Size() > maxSettings {
		return nil, fmt.Errorf("%s: has %d bytes, want at most %d", path, info.Size(), maxSettings)
	}
	f, err := os.Open(path) //nolint:gosec // Settings lie where they lie.
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, maxSettings))
}
