//go:build !linux

package answer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"time"
)

// runLimited runs one of hookspan's programs, kills it when ctx ends, and returns
// its output.
func runLimited(ctx context.Context, path string, args, environ []string, dir string, stdin io.Reader) ([]byte, error) {
	cmd := exec.CommandContext(ctx, path, args...) //nolint:gosec // hookspan itself.
	cmd.Env, cmd.Dir, cmd.Stdin = environ, dir, stdin
	cmd.WaitDelay = time.Second
	pipe, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	out, readErr := io.ReadAll(io.LimitReader(pipe, maxAnswer))
	_, _ = io.Copy(io.Discard, pipe)
	if err := errors.Join(readErr, cmd.Wait()); err != nil {
		return nil, fmt.Errorf("%s %s: %w", filepath.Base(path), args[0], err)
	}
	return out, nil
}
