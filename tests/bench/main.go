// Command bench measures what a hook call costs, as the agent that waits for it
// sees it: from the start of the process until its output is closed and it has
// ended. All contestants take turns in one run, so that their ratios to a
// program that does nothing hold whatever else the machine is busy with.
//
//	go run ./tests/bench [-n 300] [-only NAME] [-check]
//
// It prints a Markdown table. With -check it fails when a budget is broken.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/tests/internal/proof"
)

func main() {
	var o options
	flag.IntVar(&o.rounds, "n", 300, "how often each contestant runs")
	flag.IntVar(&o.stored, "stored", 100_000, "events in the session that has many")
	flag.StringVar(&o.only, "only", "", "leave out the contestants whose name does not hold this, but for the no-op")
	flag.BoolVar(&o.check, "check", false, "fail when a budget is broken")
	flag.Parse()
	if err := run(context.Background(), o, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

type options struct {
	rounds, stored int
	only           string
	check          bool
}

var errBudget = errors.New("a budget is broken")

func run(ctx context.Context, o options, out io.Writer) (err error) {
	if o.rounds < 1 || flag.NArg() > 0 {
		return fmt.Errorf("-n %d and %d arguments: want at least one round and no argument", o.rounds, flag.NArg())
	}
	dir, err := os.MkdirTemp("", "hookspan-bench")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := build(ctx, dir); err != nil {
		return err
	}
	if err := adopt(); err != nil {
		return err
	}
	f, err := newField(ctx, dir, o.stored)
	if err != nil {
		return err
	}
	defer f.close()
	f.contestants = slices.DeleteFunc(f.contestants, func(c *contestant) bool {
		return c != f.noop && !strings.Contains(c.name, o.only)
	})

	if err := f.takeTurns(o.rounds); err != nil {
		return err
	}
	if err := f.checkHooks(); err != nil {
		return err
	}
	if err := f.atOnce(max(3, o.rounds/crowd)); err != nil {
		return err
	}
	if err := f.memory(); err != nil {
		return err
	}
	large, err := f.largePayload()
	if err != nil {
		return err
	}
	hook, err := os.Stat(f.program("cline-hook"))
	if err != nil {
		return err
	}

	say := func(format string, args ...any) {
		if err == nil {
			_, err = fmt.Fprintf(out, format, args...)
		}
	}
	say("%s, %s, %d rounds of a 4 KB event\n\n", proof.Machine(), runtime.Version(), o.rounds)
	say("%s\n", table(f.contestants))
	say("A payload of 100 MB: %s and %.1f MiB at most. The program: %.2f MB.\n\n",
		large.took.Round(time.Millisecond), float64(large.peak)/1024, float64(hook.Size())/1e6)
	for _, line := range hooksCost(f.contestants) {
		say("- hooks: %s\n", line)
	}
	broken := false
	for _, b := range budgets(f.contestants, large, hook.Size()) {
		verdict := "kept"
		switch {
		case b.busy:
			verdict = "not to be told, the machine is busy"
		case !b.kept:
			verdict, broken = "BROKEN", true
		}
		say("- %s: %s (%s)\n", b.what, verdict, b.found)
	}
	if broken && o.check && err == nil {
		return errBudget
	}
	return err
}

// build makes the programs as a release is made.
func build(ctx context.Context, dir string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", dir+string(filepath.Separator), //nolint:gosec // Its own folder.
		"github.com/hookspan/hookspan/cmd/cline-hook",
		"github.com/hookspan/hookspan/cmd/claude-hook",
		"github.com/hookspan/hookspan/cmd/hookspan",
		"github.com/hookspan/hookspan/tests/bench/noop",
		"github.com/hookspan/hookspan/tests/bench/launch",
	)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	return nil
}
