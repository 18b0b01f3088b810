package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/demo"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
)

func demoCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Play a recorded Cline task through the real hook and show its traces",
		Long: `Play a recorded Cline task: each event goes to a separate cline-hook process, as
Cline would start it, then the traces are rebuilt and shown. Everything happens in a
temporary folder; nothing is sent anywhere and your traces are not touched.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDemo(cmd.Context(), a) },
	}
}

func runDemo(ctx context.Context, a *app) (err error) {
	hook, err := hookProgram(a, "cline-hook", "")
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "hookspan-demo-")
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	b := demoApp(a, dir)
	player := &demo.Player{Home: dir, Environ: b.environ}
	events, err := player.Prepare(hook)
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	// If a reader such as head ends early, the folder must be removed nevertheless.
	signal.Ignore(syscall.SIGPIPE)
	a.printf("playing a recorded Cline task: %d events, one cline-hook process each\n", events)
	start := a.now()
	if err := player.Play(ctx); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	took := a.now().Sub(start)
	a.printf("%.1f ms an event, most of it this program starting a process; make bench measures the hook itself\n\n", took.Seconds()*1000/float64(events))

	p, err := b.setup().Open(ctx, config.ExporterStore)
	if err != nil {
		return err
	}
	defer func() { _ = p.Close() }()
	if _, err := p.Deliverer.Run(ctx, deliver.Pass{Force: true, Wait: true}); err != nil {
		return err
	}
	sums, err := p.Store.List(ctx, store.Filter{Limit: 10})
	if err != nil || len(sums) == 0 {
		return fmt.Errorf("demo: %d traces came out: %w", len(sums), err)
	}
	all, err := p.Store.Totals(ctx, store.Filter{})
	if err != nil {
		return err
	}
	a.printf("$ hookspan list\n")
	if err := view.List(a.stdout, sums, 0, nil, all, a.viewOptions()); err != nil {
		return err
	}
	first := sums[len(sums)-1]
	t, err := p.Store.Trace(ctx, first.TraceID)
	if err != nil {
		return err
	}
	a.printf("\n$ hookspan show %s\n", store.ShortID(first.TraceID))
	if err := view.Tree(a.stdout, t, a.viewOptions()); err != nil {
		return err
	}
	a.printf("\nThese traces were in a temporary folder and are gone: hookspan show does not find them.\nFor your own tasks: hookspan install\n")
	return nil
}

// demoApp returns this program with dir as the home folder.
func demoApp(a *app, dir string) *app {
	b := *a
	b.home = dir
	b.environ = []string{
		"HOME=" + dir, "USERPROFILE=" + dir, "PATH=" + a.getenv("PATH"),
		"XDG_STATE_HOME=" + filepath.Join(dir, "state"), "XDG_CONFIG_HOME=" + filepath.Join(dir, "config"),
		"LOCALAPPDATA=" + filepath.Join(dir, "state"), "APPDATA=" + filepath.Join(dir, "config"),
	}
	b.cfg, b.cfgErr = config.Load(config.Input{Environ: b.environ, Home: dir, GOOS: b.goos})
	b.log.Path = b.cfg.LogPath()
	return &b
}
