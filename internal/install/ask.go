package install

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// Ask runs a program for at most the limit and returns its trimmed output. It
// returns "" where PATH has no such program.
func Ask(ctx context.Context, limit time.Duration, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...) //nolint:gosec // The callers name fixed programs.
	// A grandchild that holds the pipe open must not outlast the limit.
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	switch {
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, exec.ErrDot):
		return "", nil
	case err != nil && ctx.Err() != nil:
		return "", fmt.Errorf("run %s: no answer in %v", name, limit)
	case err != nil:
		return "", fmt.Errorf("run %s: %w", name, err)
	}
	return strings.TrimSpace(string(out)), nil
}
