package main

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/regular"
	"github.com/hookspan/hookspan/internal/store"
	"github.com/hookspan/hookspan/internal/view"
)

// demoFiles are the payloads that Cline's own hook code wrote in one scripted
// task, and the files that Cline kept of that task.
//
//go:embed demo
var demoFiles embed.FS

// demoTask is the task's id in those files.
const demoTask = "1795175957341"

func (a *app) demoCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Play a recorded Cline task through the real hook and show its traces",
		Long: `Play a recorded Cline task: each event goes to a cline-hook process of its own, as
Cline would start it, then the traces are rebuilt and shown. Everything happens in a
temporary folder; nothing is sent anywhere and your own traces are not touched.`,
		Args: takes(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.demo(cmd.Context()) },
	}
}

func (a *app) demo(ctx context.Context) (err error) {
	hook, err := a.hookBinary("")
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "hookspan-demo-")
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := demoStorage(dir); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	b := a.demoApp(dir)
	if hook, err = demoHook(hook, dir); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	// If a reader such as head ends early, the folder must be removed nevertheless.
	signal.Ignore(syscall.SIGPIPE)

	names, err := fs.Glob(demoFiles, "demo/session/*.json")
	if err != nil {
		return err
	}
	a.printf("playing a recorded Cline task: %d events, one cline-hook process each\n", len(names))
	start := a.now()
	for _, name := range names {
		if err := demoEvent(ctx, hook, name, b.environ, dir); err != nil {
			return fmt.Errorf("demo: %s: %w", filepath.Base(name), err)
		}
	}
	took := a.now().Sub(start)
	a.printf("%.1f ms an event on this machine, process start included\n\n", took.Seconds()*1000/float64(len(names)))

	p, err := b.setup().Open(ctx, config.ExporterStore)
	if err != nil {
		return err
	}
	defer func() { _ = p.Close() }()
	if _, err := p.Run(ctx, deliver.Pass{Force: true, Wait: true}); err != nil {
		return err
	}
	sums, err := p.Store.List(ctx, store.Filter{Limit: 10})
	if err != nil || len(sums) == 0 {
		return fmt.Errorf("demo: %d traces came out: %w", len(sums), err)
	}
	a.printf("$ hookspan list\n")
	err = view.List(a.stdout, sums, view.Options{Color: a.color(), Width: a.terminal(), Now: a.now()})
	if err != nil {
		return err
	}
	first := sums[len(sums)-1]
	t, err := p.Store.Trace(ctx, first.TraceID)
	if err != nil {
		return err
	}
	a.printf("\n$ hookspan show %s\n", first.TraceID[:8])
	if err := view.Tree(a.stdout, t, view.Options{Color: a.color(), Width: a.terminal()}); err != nil {
		return err
	}
	a.printf("\nFor your own tasks: hookspan install cline, hookspan install claude\n")
	return nil
}

// demoHook copies the hook program to a folder without hookspan, so that it
// starts no delivery: the demo itself delivers.
func demoHook(hook, dir string) (string, error) {
	b, err := regular.Read(hook, regular.Options{})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, filepath.Base(hook))
	return path, os.WriteFile(path, b, 0o700) //nolint:gosec // A program has to be run.
}

// demoApp returns this program with dir as the home folder.
func (a *app) demoApp(dir string) *app {
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

// demoStorage writes the task's files where CLI 2 and JetBrains keep them.
func demoStorage(home string) error {
	to := filepath.Join(home, ".cline", "data", "tasks", demoTask)
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	names, err := fs.Glob(demoFiles, "demo/task/*.json")
	if err != nil {
		return err
	}
	for _, name := range names {
		b, err := demoFiles.ReadFile(name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, filepath.Base(name)), b, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func demoEvent(ctx context.Context, hook, name string, environ []string, dir string) error {
	b, err := demoFiles.ReadFile(name)
	if err != nil {
		return err
	}
	event := strings.TrimSuffix(filepath.Base(name), ".json")
	_, event, _ = strings.Cut(event, "-")
	cmd := exec.CommandContext(ctx, hook, event) //nolint:gosec // The program beside this one.
	cmd.Env, cmd.Dir, cmd.Stdin = environ, dir, bytes.NewReader(b)
	return cmd.Run()
}
