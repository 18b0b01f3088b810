//go:build !linux

package rig

import (
	"context"
	"fmt"
	"io"
	"runtime"
)

func runInNamespace(context.Context, *job) (*Result, error) {
	return nil, fmt.Errorf("%s has none: %w", runtime.GOOS, ErrNoNamespace)
}

// Inner reports whether this process is the inner half of a run. Off Linux it
// never is.
func Inner(io.Reader, io.Writer, io.Writer) (code int, inner bool) { return 0, false }
