package hookrun

import (
	"errors"
	"math"

	"golang.org/x/sys/windows"
)

// Exhausted reports that an error says that the system had no handles, processes or memory left.
func Exhausted(err error) bool {
	for _, errno := range [...]windows.Errno{
		windows.ERROR_TOO_MANY_OPEN_FILES, windows.ERROR_NOT_ENOUGH_MEMORY, windows.ERROR_OUTOFMEMORY, windows.ERROR_NO_SYSTEM_RESOURCES,
		windows.ERROR_COMMITMENT_LIMIT, windows.ERROR_NO_PROC_SLOTS, windows.ERROR_MAX_THRDS_REACHED, windows.ERROR_NOT_ENOUGH_QUOTA,
		windows.ERROR_WORKING_SET_QUOTA, windows.ERROR_PAGEFILE_QUOTA,
	} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

// descriptors is for how many handlers at a time there are handles: a process has
// millions.
func descriptors() int { return math.MaxInt }
