//go:build !windows

package main

import (
	"context"
	"os/exec"
)

// shellLine runs a command as Node.js does that is told to use a shell.
func shellLine(ctx context.Context, line string) *exec.Cmd {
	return exec.CommandContext(ctx, "sh", "-c", line) //nolint:gosec // A test's command.
}
