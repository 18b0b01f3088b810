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
	"github.com/hookspan/hookspan/tests/picli"
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
	programs := []rig.Program{
		clinecli.Programs[clinecli.CLI2], clinecli.Programs[clinecli.CLI3], claudecli.Agent.Program, codexcli.Agent.Program,
		copilotcli.Agent.Program, geminicli.Agent.Program, opencodecli.Agent.Program, picli.Agent.Program, qwencli.Agent.Program,
	}
	for _, fork := range opencodecli.Forks {
		programs = append(programs, fork.Program)
	}
	for _, program := range programs {
		start := time.Now()
		_, err := program.Command(ctx, cache)
		said := time.Since(start).Round(time.Millisecond).String()
		switch {
		case errors.Is(err, rig.ErrNoProgram):
			said = fmt.Sprintf("its tests will be skipped: %v", err)
		case err != nil:
			return err
		}
		if _, err := fmt.Fprintf(stdout, "setup: %s: %s\n", program.Name, said); err != nil {
			return fmt.Errorf("report %s: %w", program.Name, err)
		}
	}
	return nil
}
