// Command hook-runner is what cline-hook starts to run the user's command hooks for
// one event, where it does not run them itself:
//
//	hook-runner run-hooks --event EVENT ... < payload
//
// It prints the answer for Cline and exits with 0, or fails with nothing on standard
// output. hookspan does the same for every kind of hook and takes longer to start.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/internal/files/logfile"
	"github.com/hookspan/hookspan/internal/record"
	"github.com/hookspan/hookspan/internal/redact/configured"
	"github.com/hookspan/hookspan/internal/userhooks"
	"github.com/hookspan/hookspan/internal/userhooks/runner"
)

func main() {
	record.Harden()
	if err := run(os.Args[1:]); err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "hook-runner: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	var r userhooks.Request
	if len(args) == 0 || args[0] != "run-hooks" {
		return errors.New("cline-hook starts this program; people use hookspan: hookspan --help")
	}
	if err := runner.Flags(&r).Parse(args[1:]); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	p := &userhooks.Process{Environ: os.Environ(), Home: record.Home(), GOOS: runtime.GOOS, Now: time.Now, Parts: runner.Parts()}
	// Wrong settings have their defaults, and hookspan doctor shows them.
	p.Config, _ = config.Load(config.Input{
		Environ: p.Environ, Home: p.Home, GOOS: p.GOOS, ReadFile: record.ReadSettings,
		MachineFile: record.MachineFile(), ReadMachine: record.ReadMachine, Salt: record.Salt,
	})
	p.Log = logfile.Log{Path: p.Config.LogPath(), Who: "hook-runner"}.Line
	// Few events have a text to clean.
	clean := sync.OnceValue(func() func(string) string { return configured.Always(p.Config).String })
	p.Clean = func(text string) string { return clean()(text) }
	return p.Answer(ctx, r, os.Stdin, os.Stdout)
}
