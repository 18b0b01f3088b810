package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/internal/agents"
	"github.com/hookspan/hookspan/internal/atomicfile"
	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/lookpath"
	"github.com/hookspan/hookspan/internal/loopback"
	"github.com/hookspan/hookspan/internal/outbound"
	"github.com/hookspan/hookspan/internal/regular"
	"github.com/hookspan/hookspan/internal/store"
	"github.com/hookspan/hookspan/internal/termtext"
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
runs already, its address is printed and opened.

The host name ends in .localhost, which Chromium and Firefox resolve to this machine.
For another browser --ip uses 127.0.0.1 and a random port; links that it opens in a
new tab then have no access.

With --edit it can also change hooks: those in your hooks.json and in a project's, and
those in Claude Code's settings. It shows each change first. Each needs a code that
only this terminal shows.`,
	}
	port := c.Flags().Int("port", uiPort, "the port; 0 takes any free one")
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
		return runUI(cmd.Context(), a, startedUI{port: *port, ip: *ip, Edit: *edit}, !*noOpen)
	}
	return c
}

// startedUI is a page as a later start finds it.
type startedUI struct {
	port    int
	ip      bool
	Process int
	Edit    bool
	Address string
}

// openingPage leads the browser to the address and remembers the process.
const openingPage = `<!doctype html>
<meta name="process" content="%d %t">
<meta http-equiv="refresh" content="0;url=%s">
<a href="%[3]s">hookspan</a>
`

var openingParts = regexp.MustCompile(`content="(\d+) (true|false)">[^"]+"refresh" content="0;url=([^"]+)"`)

// file is the path of the opening page. Only the user can read it; every user can read the
// arguments of a browser.
func (s startedUI) file(a *app) string {
	name := strconv.Itoa(s.port)
	if s.ip {
		name = "ip"
	}
	return filepath.Join(a.cfg.StateDir, "ui", name+".html")
}

// find fills in the page that an earlier start serves at the same port. It must still
// listen there and know its token: the port may be another program's by now.
func (s *startedUI) find(ctx context.Context, a *app) bool {
	b, err := regular.Read(s.file(a), regular.Options{Max: 4096, NoLink: true, Private: true})
	if err != nil {
		return false
	}
	m := openingParts.FindSubmatch(b)
	if m == nil {
		return false
	}
	s.Process, _ = strconv.Atoi(string(m[1]))
	s.Edit, s.Address = string(m[2]) == "true", string(m[3])
	u, err := url.Parse(s.Address)
	if err != nil {
		return false
	}
	nonce := ui.NewToken()
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:"+u.Port()+ui.Here+"?nonce="+nonce, nil)
	if err != nil {
		return false
	}
	req.Host = u.Host
	client := outbound.New(outbound.Options{Once: true})
	defer client.Close()
	answer, err := client.Do(req)
	return err == nil && string(answer.Body) == strconv.Quote(ui.Proof(strings.TrimPrefix(u.Fragment, "token="), nonce))
}

func runUI(ctx context.Context, a *app, s startedUI, open bool) error {
	a.configProblems()
	if first := s; (s.ip || s.port != 0) && first.find(ctx, a) {
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
	listeners, err := loopback.Listen(ctx, s.port)
	switch {
	case errors.Is(err, loopback.ErrTaken):
		return hinted{err, fmt.Sprintf("%s names the program; hookspan ui --port 0 takes any free port", whoListens(a, s.port))}
	case err != nil:
		return err
	}
	s.port, s.Process = listeners[0].Addr().(*net.TCPAddr).Port, os.Getpid()
	token, host := ui.NewToken(), "127.0.0.1"
	if !s.ip {
		host = ui.NewHost()
	}
	s.Address = fmt.Sprintf("http://%s:%d%s#token=%s", host, s.port, ui.Opening, token)
	if err := s.write(a); err != nil {
		return err
	}
	defer func() { _ = os.Remove(s.file(a)) }()

	machine := machineOf(a)
	machine.Store = p.Store
	configured := hookMachine(a, p.Store)
	var editor *hooks.Editor
	if s.Edit {
		editor = &hooks.Editor{Machine: configured, Say: func(text string) { a.warnf("%s", termtext.Value(text)) }}
	}
	server := ui.New(ui.Options{
		Store: p.Store, Token: token, Host: host, Version: buildVersion(), Now: a.now, NoTraces: noTraces,
		Watch:      []string{a.cfg.StorePath(), a.cfg.StorePath() + "-wal", filepath.Join(a.cfg.SpoolDir(), "*", "*", "events.json-seq")},
		StoreFiles: []string{a.cfg.StorePath(), a.cfg.StorePath() + "-wal"},
		Running:    p.Running,
		Whole:      a.finder(p).Rows,
		Status:     func(ctx context.Context) (any, error) { return machine.Status(ctx) },
		Findings:   func(ctx context.Context) (any, error) { return machine.Examine(ctx), nil },
		Hooks:      configured, Edit: editor, Agents: agentNames(),
	})
	a.printf("%s\n", s.Address)
	openPage(ctx, a, s, open)
	a.hint("Ctrl-C ends it")
	return server.Serve(ctx, listeners...)
}

// openPage opens the page in the browser, if it is wanted.
func openPage(ctx context.Context, a *app, s startedUI, open bool) {
	if !open {
		return
	}
	if err := openBrowser(ctx, a, s.file(a)); err != nil {
		a.hint("no browser could be started: open the address yourself")
	}
	if !s.ip && a.goos == "darwin" {
		a.hint("Safari does not find the address: it needs hookspan ui --ip")
	}
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

// write writes the opening page.
func (s startedUI) write(a *app) error {
	file := s.file(a)
	err := os.MkdirAll(filepath.Dir(file), 0o700)
	if err == nil {
		err = atomicfile.Write(file, fmt.Appendf(nil, openingPage, s.Process, s.Edit, s.Address), atomicfile.Options{Mode: 0o600})
	}
	if err != nil {
		return fmt.Errorf("the file that the browser opens: %w", err)
	}
	return nil
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
