package record

import (
	"path/filepath"

	"golang.org/x/sys/windows"
)

// MachineFile is the path of the machine-wide settings file, in ProgramData on the
// system's drive. No variable of the environment has a part in it: who starts an agent
// can set them.
func MachineFile() string {
	dir, err := windows.GetSystemWindowsDirectory()
	if err != nil {
		return ""
	}
	return filepath.Join(filepath.VolumeName(dir)+`\`, "ProgramData", "hookspan", "hookspan.env")
}
