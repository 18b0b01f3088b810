//go:build !(linux && amd64)

package trace

import (
	"fmt"
	"runtime"
)

// Available returns why no process can be traced here.
func Available() error {
	return fmt.Errorf("%w: that is known for linux/amd64, not for %s/%s", ErrUnavailable, runtime.GOOS, runtime.GOARCH)
}

// Run is not to be had.
func Run(Program, *Fault) (*Ending, error) { return nil, Available() }
