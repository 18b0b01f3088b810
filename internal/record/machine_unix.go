//go:build !windows

package record

import "runtime"

// MachineFile is the path of the machine-wide settings file. No variable of the
// environment has a part in it.
func MachineFile() string {
	if runtime.GOOS == "darwin" {
		return "/Library/Application Support/hookspan/hookspan.env"
	}
	return "/etc/hookspan/hookspan.env"
}
