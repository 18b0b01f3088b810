package hookrun

import (
	"math"

	"golang.org/x/sys/windows"
)

// shortages are the errors of a system that has no handles, processes or memory
// left.
var shortages = [...]error{
	windows.ERROR_TOO_MANY_OPEN_FILES, windows.ERROR_NOT_ENOUGH_MEMORY, windows.ERROR_OUTOFMEMORY, windows.ERROR_NO_SYSTEM_RESOURCES,
	windows.ERROR_COMMITMENT_LIMIT, windows.ERROR_NO_PROC_SLOTS, windows.ERROR_MAX_THRDS_REACHED, windows.ERROR_NOT_ENOUGH_QUOTA,
	windows.ERROR_WORKING_SET_QUOTA, windows.ERROR_PAGEFILE_QUOTA, windows.WSAEMFILE, windows.WSAENOBUFS,
}

// descriptors is for how many handlers at a time there are handles: a process has
// millions.
func descriptors() int { return math.MaxInt }
