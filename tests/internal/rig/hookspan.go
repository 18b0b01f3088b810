package rig

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Credentials the stand-in for Infinium is to be called with.
const (
	InfiniumAgent  = "agent-under-test"
	InfiniumSecret = "secret-under-test"
)

// InstallHookspan configures hookspan by its env file, as a user whose agent
// passes no environment on has to, and runs `hookspan install` with args. The
// settings are further lines NAME=value of the file.
func (a *Arena) InstallHookspan(ctx context.Context, bin string, settings []string, args ...string) error {
	if err := os.MkdirAll(a.ConfigDir(), 0o700); err != nil {
		return fmt.Errorf("create the configuration folder: %w", err)
	}
	lines := append([]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=" + OTLPURL,
		"INFINIUM_BASE_URL=" + InfiniumURL,
		"INFINIUM_AGENT_ID=" + InfiniumAgent,
		"INFINIUM_AGENT_SECRET=" + InfiniumSecret,
	}, settings...)
	if err := os.WriteFile(filepath.Join(a.ConfigDir(), "hookspan.env"), []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		return fmt.Errorf("write the env file: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "hookspan"), append([]string{"install"}, args...)...)
	cmd.Env, cmd.Dir = a.Environ(), a.Workspace
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("hookspan install %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}
