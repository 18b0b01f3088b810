package main

import (
	"fmt"
	"runtime"
)

// machine names what the numbers depend on.
func machine() string {
	return fmt.Sprintf("%d cores, %s/%s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)
}
