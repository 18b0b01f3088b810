// Command setup installs the Cline programs the end-to-end tests drive, so that
// the tests themselves need no network.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/hookspan/hookspan/tests/clinecli"
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
	cache, err := clinecli.DefaultCache()
	if err != nil {
		return err
	}
	for _, cli := range []clinecli.CLI{clinecli.CLI2, clinecli.CLI3} {
		start := time.Now()
		cmd, err := clinecli.Install(ctx, cache, cli)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(stdout, "%s: %s (%s)\n", cli, cmd[len(cmd)-1], time.Since(start).Round(time.Millisecond)); err != nil {
			return fmt.Errorf("report %s: %w", cli, err)
		}
	}
	return nil
}
