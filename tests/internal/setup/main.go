// Command setup installs the agents' programs that the end-to-end tests drive,
// so that the tests themselves need no network.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/hookspan/hookspan/tests/claudecli"
	"github.com/hookspan/hookspan/tests/clinecli"
	"github.com/hookspan/hookspan/tests/internal/rig"
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
	for _, install := range []func() ([]string, error){
		func() ([]string, error) { return clinecli.Install(ctx, cache, clinecli.CLI2) },
		func() ([]string, error) { return clinecli.Install(ctx, cache, clinecli.CLI3) },
		func() ([]string, error) { return claudecli.Install(ctx, cache) },
	} {
		start := time.Now()
		cmd, err := install()
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(stdout, "%s (%s)\n", cmd[len(cmd)-1], time.Since(start).Round(time.Millisecond)); err != nil {
			return fmt.Errorf("report %s: %w", cmd[len(cmd)-1], err)
		}
	}
	return nil
}
