package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/internal/agents"
	"github.com/hookspan/hookspan/internal/loopback"
	"github.com/hookspan/hookspan/internal/redact"
	"github.com/hookspan/hookspan/internal/redact/configured"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/ui"
	"github.com/hookspan/hookspan/internal/ui/hooks"
)

// uiPort is the port of the page if none is named.
const uiPort = 3044

func uiCmd(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "ui",
		Short: "Show the traces on a page in the browser",
		Long: `Serve a page with the traces on this machine, at 127.0.0.1 and ::1 only, and open it
in the browser. The first line is its address. The address holds a host name and a
token, without which the server answers nothing; both change with each start. The page
reads only, and asks no other host for anything. It runs until it is interrupted. If it
runs already, at whichever port, its address is printed and opened.

The host name ends in .localhost, which Chromium and Firefox resolve to this machine.
For another browser --ip uses 127.0.0.1 and a random port; links that it opens in a
new tab then have no access.

With --edit it can also change hooks: those in your hooks.json and in a project's, and
those in Claude Code's settings. It shows each change first. Each needs a code that
only this terminal shows.`,
	}
	port := c.Flags().Int("port", uiPort, "the port; 0 takes any free one, as without it if another program has it")
	noOpen := c.Flags().Bool("no-open", false, "open no browser")
	edit := c.Flags().Bool("edit", false, "let the page change hooks, with a code from this terminal")
	ip := c.Flags().Bool("ip", false, "use 127.0.0.1 and a random port, for a browser that does not resolve names in .localhost")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		switch {
		case *port < 0 || *port > 65535:
			return wrongUsage(cmd, "--port %d: want 0 to 65535", *port)
		case *ip && *port != 0 && cmd.Flags().Changed("port"):
			return wrongUsage(cmd, "--ip and --port %d: want one of them: a port that is known before may have been another server's", *port)
		case *ip:
			*port = 0
		}
		s := ui.Started{Dir: filepath.Join(a.cfg.StateDir, "ui"), Port: *port, IP: *ip, Edit: *edit}
		return runUI(cmd.Context(), a, s, !*noOpen, !*ip && !cmd.Flags().Changed("port"))
	}
	return c
}

// runUI serves the page, or opens the one that is served already. With anyPort the port
// does not matter.
func runUI(ctx context.Context, a *app, s ui.Started, open, anyPort bool) error {
	a.configProblems()
	if first := s; (s.IP || s.Port != 0) && first.Find(ctx, anyPort) {
		if s.Edit && !first.Edit {
			return hinted{fmt.Errorf("hookspan ui runs already, without --edit, as process %d", first.Process), "end it first, or take another port: hookspan ui --edit --port 0"}
		}
		a.printf("%s\n", first.Address)
		a.hint(fmt.Sprintf("hookspan ui runs already, as process %d", first.Process))
		openPage(ctx, a, first, open)
		return nil
	}
	p, err := a.setup().OpenStore(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = p.Close() }()
	listeners, err := loopback.Listen(ctx, s.Port)
	if anyPort && errors.Is(err, loopback.ErrTaken) {
		a.hint(fmt.Sprintf("another program has port %d, which %s names: this is another port", s.Port, loopback.WhoListens(a.goos, s.Port)))
		listeners, err = loopback.Listen(ctx, 0)
	}
	switch {
	case errors.Is(err, loopback.ErrTaken):
		return hinted{err, fmt.Sprintf("%s names the program; hookspan ui --port 0 takes any free port", loopback.WhoListens(a.goos, s.Port))}
	case err != nil:
		return err
	}
	s.Port, s.Process = listeners[0].Addr().(*net.TCPAddr).Port, os.Getpid()
	token, host := ui.NewToken(), "127.0.0.1"
	if !s.IP {
		host = ui.NewHost()
	}
	s.Address = fmt.Sprintf("http://%s:%d%s#token=%s", host, s.Port, ui.Opening, token)
	if err := s.Write(); err != nil {
		return err
	}
	defer func() { _ = os.Remove(s.File()) }()

	machine := machineOf(a)
	machine.Setup.Store = p.Store
	hookFiles := hookMachine(a, p.Store)
	hookFiles.Running = p.Running
	var editor *hooks.Editor
	if s.Edit {
		editor = &hooks.Editor{Catalog: hookFiles, Say: func(text string) { a.warnf("%s", termtext.Value(text)) }}
	}
	server := ui.New(ui.Options{
		Store: p.Store, Token: token, Host: host, Version: buildVersion(), Now: a.now, NoTraces: noTraces, Past: a.past, Hooked: a.hooked,
		Watch:      []string{a.cfg.StorePath(), a.cfg.StorePath() + "-wal", filepath.Join(a.cfg.SpoolDir(), "*", "*", "events.json-seq")},
		StoreFiles: []string{a.cfg.StorePath(), a.cfg.StorePath() + "-wal"},
		Running:    p.Running,
		Whole:      a.finder(p).Rows,
		Resume:     a.resume,
		Limits:     a.said,
		Budgets:    func(ctx context.Context) (any, error) { return machine.Setup.Budgets(ctx) },
		Redactor:   func() (*redact.Redactor, error) { return configured.New(a.cfg) },
		Status:     func(ctx context.Context) (any, error) { return machine.Status(ctx) },
		Findings:   func(ctx context.Context) (any, error) { return machine.Examine(ctx), nil },
		Hooks:      hookFiles, Edit: editor, Agents: agentNames(),
	})
	a.printf("%s\n", s.Address)
	openPage(ctx, a, s, open)
	a.hint("Ctrl-C ends it")
	return server.Serve(ctx, listeners...)
}

// openPage opens the page in the browser, if it is wanted.
func openPage(ctx context.Context, a *app, s ui.Started, open bool) {
	if !open {
		return
	}
	if err := s.Open(ctx, a.goos); err != nil {
		a.hint("no browser could be started: open the address yourself")
	}
	if !s.IP && a.goos == "darwin" {
		a.hint("Safari does not find the address: it needs hookspan ui --ip")
	}
}

// agentNames are the names of the supported agents by host.
func agentNames() map[string]string {
	names := make(map[string]string)
	for _, a := range agents.All().WithGuests() {
		names[a.Host] = a.Name
	}
	return names
}

// hookMachine is where the page finds hooks.
func hookMachine(a *app, st *store.Store) *hooks.Catalog {
	a.clean("") // Requests, which come at the same time, find the cleaner made.
	return &hooks.Catalog{
		Process: hooksOf(a), System: machineOf(a).System(), Dir: workingDir(), Store: st,
		Installed: machineOf(a).Cline,
	}
}
