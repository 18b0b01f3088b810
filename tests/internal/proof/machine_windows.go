package proof

import (
	"fmt"
	"runtime"
)

// Machine names what the numbers depend on.
func Machine() string {
	return fmt.Sprintf("%d cores, %s/%s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)
}
