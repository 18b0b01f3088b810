package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/internal/bridge"
	"github.com/hookspan/hookspan/internal/loopback"
	"github.com/hookspan/hookspan/internal/record"
	"github.com/hookspan/hookspan/internal/record/claudehook"
	"github.com/hookspan/hookspan/spool"
)

// bridgeClosing is how long the bridge's lines may take to be written when it
// ends.
const bridgeClosing = 2 * time.Second

func bridgeCmd(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "bridge",
		Short: "Take hook events that scripts post to this machine",
		Long: `Listen on 127.0.0.1 and ::1 for hook events, as scripts of the agent-hooks family
post them, and print one line of JSON for each. It runs until it is interrupted.

  POST /claude-hook, /cline-hook   one event; 200 once it is stored
  GET  /claude-hook, /cline-hook   how many there were
  GET  /health                     all of it

Only programs on this machine reach it; what a web page sends is refused. An event
that comes twice is taken once.

  hookspan bridge --record         keep Claude Code's events as its own hooks would
  hookspan bridge --dir DIR        keep the last events in JSON files as well`,
	}
	ports := c.Flags().IntSlice("port", []int{bridge.DefaultPort}, "the port; 0 takes any free one; may be given several times")
	record := c.Flags().Bool("record", false, "record Claude Code's events, and Cline's own, for traces")
	quiet := c.Flags().Bool("quiet", false, "print no line per event")
	dir := c.Flags().String("dir", "", "folder that keeps the last events, as cline-hook-events.json and claude-hook-events.json")
	_ = c.MarkFlagDirname("dir")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		for i, port := range *ports {
			if port < 0 || port > 65535 {
				return wrongUsage(cmd, "--port %d: want 0 to 65535", port)
			}
			if port > 0 && slices.Contains((*ports)[:i], port) {
				return wrongUsage(cmd, "--port %d: given twice", port)
			}
		}
		return runBridge(cmd.Context(), a, *ports, *record, *quiet, *dir)
	}
	return c
}

func runBridge(ctx context.Context, a *app, ports []int, record, quiet bool, dir string) error {
	o := bridge.Options{Version: buildVersion(), Now: a.now, Fault: func(err error) { a.warnf("%v", err) }}
	if record {
		a.configProblems()
		r, err := newRecorder(a)
		if err != nil {
			return err
		}
		o.Recorder = r
	}
	if dir != "" {
		dir, err := filepath.Abs(a.tilde(dir))
		if err == nil {
			err = os.MkdirAll(dir, 0o700)
		}
		if err != nil {
			return fmt.Errorf("--dir: want a folder: %w", err)
		}
		for _, agent := range []bridge.Provider{bridge.Claude, bridge.Cline} {
			o.Sinks = append(o.Sinks, &bridge.FileStore{Dir: dir, Agent: agent, Now: a.now})
		}
	}
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(bridge.MemoryLimit))
	var listeners []net.Listener
	defer func() {
		for _, l := range listeners {
			_ = l.Close() // Serve has closed them, unless there was none.
		}
	}()
	for _, port := range ports {
		more, err := loopback.Listen(ctx, port)
		switch {
		case errors.Is(err, loopback.ErrTaken):
			return hinted{err, fmt.Sprintf("%s names the program; --port N takes another port, which the hooks must then name too", loopback.WhoListens(a.goos, port))}
		case err != nil:
			return err
		}
		listeners = append(listeners, more...)
	}
	if !quiet {
		lines := bridge.NewLines(a.stdout)
		o.Sinks = append(o.Sinks, lines)
		defer func() {
			end, cancel := context.WithTimeout(context.WithoutCancel(ctx), bridgeClosing)
			defer cancel()
			_ = lines.Close(end)
		}()
	}
	a.warnf("listening on %s", listening(listeners))
	return bridge.New(o).Serve(ctx, listeners...)
}

// listening names the addresses for people.
func listening(listeners []net.Listener) string {
	var all []string
	for _, l := range listeners {
		all = append(all, "http://"+l.Addr().String())
	}
	return strings.Join(all, " and ")
}

// tilde is a path with the home folder in place of the ~ that no shell replaced.
func (a *app) tilde(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && a.home != "" {
		return filepath.Join(a.home, rest)
	}
	return path
}

// newRecorder returns the sink that stores events for traces.
func newRecorder(a *app) (*bridge.Recorder, error) {
	sp, err := spool.Open(a.cfg.SpoolDir(), spool.Options{})
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program's file: %w", err)
	}
	dir := "/"
	if a.goos == "windows" {
		dir = a.cfg.StateDir
	}
	// Each event has its project.
	environ := slices.DeleteFunc(slices.Clone(a.environ), func(kv string) bool { return strings.HasPrefix(kv, "CLAUDE_PROJECT_DIR=") })
	hosts := map[string]record.Agent{
		hook.HostCline:  {Facts: hook.AgentOf(hook.HostCline), Peek: cline.Peek}, // whose hooks Cline asks itself
		hook.HostClaude: claudehook.Agents(func(string) string { return "" })[0],
	}
	return bridge.NewRecorder(sp, func(host string, e *bridge.Event) (bool, error) {
		p := record.Process{
			Agent: hosts[host], Event: e.Name, Stdin: bytes.NewReader(e.Body), Stdout: io.Discard, Environ: environ,
			Home: a.home, GOOS: a.goos, Dir: e.Cwd, Now: a.now,
			Spawn: func(args ...string) error { return record.DetachReaped(self, args, environ, dir) },
		}
		return p.Record()
	}), nil
}
