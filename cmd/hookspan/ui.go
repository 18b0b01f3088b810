package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/internal/agents"
	"github.com/hookspan/hookspan/internal/atomicfile"
	"github.com/hookspan/hookspan/internal/bridge"
	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/lookpath"
	"github.com/hookspan/hookspan/internal/store"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/ui"
	"github.com/hookspan/hookspan/internal/ui/hooks"
	"github.com/hookspan/hookspan/internal/view"
)

// uiPort is the port of the page if none is named.
const uiPort = 3044

func uiCmd(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "ui",
		Short: "Show the traces on a page in the browser",
		Long: `Serve a page with the traces on this machine, at 127.0.0.1 and ::1 only, and open it
in the browser. The first line is its address. The address holds a token without
which the server answers nothing; it changes with each start. The page reads only,
and asks no other host for anything. It runs until it is interrupted.

With --edit it can also change hooks: those in your hooks.json and in a project's, and
those in Claude Code's settings. It shows each change first. What makes a program run,
such as a new command, a test or trust, needs a code that only this terminal shows.`,
	}
	port := c.Flags().Int("port", uiPort, "the port; 0 takes any free one")
	noOpen := c.Flags().Bool("no-open", false, "open no browser")
	edit := c.Flags().Bool("edit", false, "let the page change hooks, with a code from this terminal")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if *port < 0 || *port > 65535 {
			return wrongUsage(cmd, "--port %d: want 0 to 65535", *port)
		}
		return runUI(cmd.Context(), a, *port, !*noOpen, *edit)
	}
	return c
}

func runUI(ctx context.Context, a *app, port int, open, edit bool) error {
	a.configProblems()
	p, err := a.setup().OpenStore(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = p.Close() }()
	listeners, err := bridge.Listen(ctx, port)
	switch {
	case errors.Is(err, bridge.ErrTaken):
		return hinted{err, fmt.Sprintf("%s names the program; hookspan ui --port 0 takes any free port", whoListens(a, port))}
	case err != nil:
		return err
	}
	port = listeners[0].Addr().(*net.TCPAddr).Port
	token := ui.NewToken()
	address := fmt.Sprintf("http://127.0.0.1:%d%s#token=%s", port, ui.Opening, token)
	file, err := openingFile(a, port, address)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file) }()

	machine := machineOf(a)
	machine.Store = p.Store
	configured := hookMachine(a, p.Store)
	var editor *hooks.Editor
	if edit {
		editor = &hooks.Editor{Machine: configured, Say: func(text string) { a.warnf("%s", termtext.Value(text)) }}
	}
	s := ui.New(ui.Options{
		Store: p.Store, Token: token, Version: buildVersion(), Now: a.now, NoTraces: noTraces,
		Watch:   []string{a.cfg.StorePath(), a.cfg.StorePath() + "-wal", filepath.Join(a.cfg.SpoolDir(), "*", "*", "events.json-seq")},
		Running: p.Running,
		Whole: func(ctx context.Context, t *store.Trace, r *view.Row) (view.CallText, error) {
			found, err := textsOf(ctx, a, p, t, []view.Row{*r}, []int{0}, true)
			if err != nil {
				return view.CallText{}, err
			}
			return view.CallText{Arguments: found[0].Arguments, Result: found[0].Result, Error: found[0].Error, Source: found[0].Source}, nil
		},
		Status:   func(ctx context.Context) (any, error) { return machine.Status(ctx) },
		Findings: func(ctx context.Context) (any, error) { return machine.Examine(ctx), nil },
		Hooks:    configured, Edit: editor, Agents: agentNames(),
	})
	a.printf("%s\n", address)
	if open {
		if err := openBrowser(ctx, a, file); err != nil {
			a.hint("no browser could be started: open the address yourself")
		}
	}
	a.hint("Ctrl-C ends it")
	return s.Serve(ctx, listeners...)
}

// agentNames are the names of the supported agents by host.
func agentNames() map[string]string {
	names := make(map[string]string)
	for _, a := range agents.All() {
		names[a.Host] = a.Name
	}
	return names
}

// hookMachine is where the page finds hooks.
func hookMachine(a *app, st *store.Store) *hooks.Machine {
	a.clean("") // Requests, which come at the same time, find the cleaner made.
	return &hooks.Machine{
		Process: hooksOf(a), System: systemOf(a), Dir: workingDir(), Store: st,
		Installed: func(ctx context.Context) (*install.Report, error) { return installedHooks(ctx, a) },
	}
}

// openingFile writes a page that leads to the address. Only the user can read it; every
// user can read the arguments of a browser.
func openingFile(a *app, port int, address string) (string, error) {
	file := filepath.Join(a.cfg.StateDir, "ui", strconv.Itoa(port)+".html")
	err := os.MkdirAll(filepath.Dir(file), 0o700)
	if err == nil {
		page := fmt.Sprintf("<!doctype html>\n<meta http-equiv=\"refresh\" content=\"0;url=%s\">\n<a href=\"%[1]s\">hookspan</a>\n", address)
		err = atomicfile.Write(file, []byte(page), atomicfile.Options{Mode: 0o600})
	}
	if err != nil {
		return "", fmt.Errorf("the file that the browser opens: %w", err)
	}
	return file, nil
}

// openBrowser starts the user's browser and does not wait for it.
func openBrowser(ctx context.Context, a *app, file string) error {
	command := map[string][]string{
		"windows": {"rundll32", "url.dll,FileProtocolHandler"}, "darwin": {"open"},
	}[a.goos]
	if command == nil {
		command = []string{"xdg-open"}
	}
	// The browser outlives this command.
	cmd, err := lookpath.Here().Command(context.WithoutCancel(ctx), command[0], append(command[1:], file)...)
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }()
	return nil
}
