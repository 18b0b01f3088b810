//go:build !linux

package rig

import (
	"context"
	"fmt"
	"io"
	"runtime"
)

// runInNamespace is a variable so that linters do not take its callers' checks for needless.
var runInNamespace = func(context.Context, *job) (*Result, error) {
	return nil, fmt.Errorf("%s has none: %w", runtime.GOOS, ErrNoNamespace)
}

// Inner reports whether this process is the inner half of a run. Off Linux it
// never is.
func Inner(io.Reader, io.Writer, io.Writer) (code int, inner bool) { return 0, false }
