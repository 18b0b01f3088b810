package clinecli

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

// Build compiles hookspan and cline-hook into dir, side by side as they are
// shipped.
func Build(ctx context.Context, dir string) error {
	for _, name := range []string{"hookspan", "cline-hook"} {
		cmd := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(dir, name), "github.com/hookspan/hookspan/cmd/"+name) //nolint:gosec // The names are ours.
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", name, err, out)
		}
	}
	return nil
}

// InstallHookspan returns a Setup that configures hookspan by its env file, as
// a user of an editor without a shell environment has to, and lets hookspan
// install itself for Cline. The settings are lines NAME=value; dir is where
// Build put the programs. The recorder is installed beside it.
func InstallHookspan(ctx context.Context, dir string, settings ...string) func(*Arena) error {
	return func(a *Arena) error {
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
		cmd := exec.CommandContext(ctx, filepath.Join(dir, "hookspan"), "install", "cline")
		cmd.Env, cmd.Dir = a.Environ(), a.Workspace
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("hookspan install cline: %w\n%s", err, out)
		}
		return RecordHooks(a)
	}
}
