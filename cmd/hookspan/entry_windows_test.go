package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// shellLine runs a command as Node.js does that is told to use a shell.
func shellLine(ctx context.Context, line string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(os.Getenv("SYSTEMROOT"), "system32", "cmd.exe")) //nolint:gosec // A program of the system.
	cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: `cmd.exe /d /s /c "` + line + `"`}
	return cmd
}
