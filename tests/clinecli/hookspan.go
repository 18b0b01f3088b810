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

// Hookspan says how hookspan is installed for a run.
type Hookspan struct {
	// Bin is the folder where Build put the programs.
	Bin string
	// Settings are further lines NAME=value of hookspan's env file.
	Settings []string
	// Record puts a recorder in front of cline-hook.
	Record bool
	// Beside installs a second hook for every event, a recorder in the
	// workspace, see RecordHooks.
	Beside bool
}

// Setup configures hookspan by its env file, as a user of an editor without a
// shell environment has to, and lets hookspan install itself for Cline.
func (i Hookspan) Setup(ctx context.Context, a *Arena) error {
	if err := os.MkdirAll(a.ConfigDir(), 0o700); err != nil {
		return fmt.Errorf("create the configuration folder: %w", err)
	}
	lines := append([]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=" + OTLPURL,
		"INFINIUM_BASE_URL=" + InfiniumURL,
		"INFINIUM_AGENT_ID=" + InfiniumAgent,
		"INFINIUM_AGENT_SECRET=" + InfiniumSecret,
	}, i.Settings...)
	if err := os.WriteFile(filepath.Join(a.ConfigDir(), "hookspan.env"), []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		return fmt.Errorf("write the env file: %w", err)
	}
	args := []string{"install", "cline"}
	if i.Record {
		front := filepath.Join(a.Dir, "cline-hook")
		if err := recordBefore(front, filepath.Join(i.Bin, "cline-hook"), a.Records); err != nil {
			return err
		}
		args = append(args, "--binary", front)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(i.Bin, "hookspan"), args...)
	cmd.Env, cmd.Dir = a.Environ(), a.Workspace
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("hookspan install cline: %w\n%s", err, out)
	}
	if i.Beside {
		return RecordHooks(a)
	}
	return nil
}
