package hookproc

import "github.com/hookspan/hookspan/internal/regular"

// maxSettings is the largest file of settings that is read, in bytes. A project
// that somebody else wrote can hold any file under that name.
const maxSettings = 64 << 10

// readProject reads a project's settings: through no link, which could lead
// anywhere.
func readProject(path string) ([]byte, error) {
	return regular.Read(path, regular.Options{Max: maxSettings, NoLink: true})
}

// ReadSettings reads the user's own settings, which may be a link.
func ReadSettings(path string) ([]byte, error) {
	return regular.Read(path, regular.Options{Max: maxSettings})
}
