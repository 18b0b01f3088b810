// Command setup installs the agents' programs that the end-to-end tests drive,
// so that the tests themselves need no network.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/hookspan/hookspan/tests/claudecli"
	"github.com/hookspan/hookspan/tests/clinecli"
	"github.com/hookspan/hookspan/tests/codexcli"
	"github.com/hookspan/hookspan/tests/copilotcli"
	"github.com/hookspan/hookspan/tests/geminicli"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/opencodecli"
	"github.com/hookspan/hookspan/tests/qwencli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "setup: %v\n", err)
		stop()
		os.Exit(1) //nolint:gocritic // The deferred stop has just run.
	}
}

func run(ctx context.Context, stdout io.Writer) error {
	cache, err := rig.DefaultCache()
	if err != nil {
		return err
	}
	for _, agent := range []struct {
		name    string
		install func() error
	}{
		{"Cline CLI 2", func() error { _, err := clinecli.Install(ctx, cache, clinecli.CLI2); return err }},
		{"Cline CLI 3", func() error { _, err := clinecli.Install(ctx, cache, clinecli.CLI3); return err }},
		{"Claude Code", func() error { _, err := claudecli.Install(ctx, cache); return err }},
		{"Codex", func() error { _, err := codexcli.Install(ctx, cache); return err }},
		{"Copilot", func() error { _, err := copilotcli.Install(ctx, cache); return err }},
		{"Gemini CLI", func() error { _, err := geminicli.Install(ctx, cache); return err }},
		{"opencode", func() error { _, err := opencodecli.Install(ctx, cache); return err }},
		{"Qwen Code", func() error { _, err := qwencli.Install(ctx, cache); return err }},
	} {
		start := time.Now()
		err := agent.install()
		said := time.Since(start).Round(time.Millisecond).String()
		switch {
		case errors.Is(err, rig.ErrNoProgram):
			said = fmt.Sprintf("its tests will be skipped: %v", err)
		case err != nil:
			return err
		}
		if _, err := fmt.Fprintf(stdout, "setup: %s: %s\n", agent.name, said); err != nil {
			return fmt.Errorf("report %s: %w", agent.name, err)
		}
	}
	return nil
}
