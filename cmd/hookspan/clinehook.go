package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/internal/bridge"
	"github.com/hookspan/hookspan/internal/clinehooks/translate"
	"github.com/hookspan/hookspan/internal/hookproc"
)

// hookInput is how long an agent may take to write the event.
const hookInput = 5 * time.Second

type clineHookFlags struct {
	ports                           []int
	dir                             string
	enable, disable, status, asJSON bool
}

// clineHookCmd is what cline-hook hands over to when it is started with a flag.
func (a *app) clineHookCmd() *cobra.Command {
	var f clineHookFlags
	c := &cobra.Command{
		Use:   "cline-hook [EVENT]",
		Short: "Pass hook events of Cline on to a bridge, or put that into hooks.json",
		Long: `cline-hook passes the event on its standard input on to a bridge on this machine, and
keeps it in a file where none answers. It decides nothing and prints nothing, so it can
stand as a command in hooks.json. cline-hook --enable puts it there.

  cline-hook --port 3043 --dir ~/.cline/hook-events   pass one event on
  cline-hook --dir DIR                                keep it in the file alone
  cline-hook --enable | --disable | --status          ~/.cline/hooks.json

PRINCIPLE_HOOK_PORTS and PRINCIPLE_HOOK_DIR stand in for --port and --dir. Without any of
them it is port 3043 and ~/.cline/hook-events.`,
		Hidden: true,
		Args:   takes(1, "at most the event's name"),
		RunE:   func(cmd *cobra.Command, args []string) error { return a.clineHook(cmd, f, args) },
	}
	c.Flags().IntSliceVar(&f.ports, "port", nil, "port of a bridge on this machine; may be given several times")
	c.Flags().StringVar(&f.dir, "dir", "", "folder of the file that keeps what no bridge takes")
	c.Flags().BoolVar(&f.enable, "enable", false, "have Cline's events passed on, by entries in hooks.json")
	c.Flags().BoolVar(&f.disable, "disable", false, "take these entries out of hooks.json")
	c.Flags().BoolVar(&f.status, "status", false, "say whether they are there")
	c.Flags().BoolVar(&f.asJSON, "json", false, "print the outcome of --enable, --disable or --status as JSON")
	return c
}

func (a *app) clineHook(cmd *cobra.Command, f clineHookFlags, args []string) error {
	orders := 0
	for _, given := range []bool{f.enable, f.disable, f.status} {
		if given {
			orders++
		}
	}
	switch {
	case orders > 1:
		return wrongUsage(cmd, "want one of --enable, --disable and --status")
	case orders == 1 && len(args) > 0:
		return wrongUsage(cmd, "unexpected %q: --enable, --disable and --status take no event", args[0])
	case orders == 0 && f.asJSON:
		return wrongUsage(cmd, "--json goes with --enable, --disable or --status")
	case (f.disable || f.status) && (cmd.Flags().Changed("port") || cmd.Flags().Changed("dir")):
		return wrongUsage(cmd, "--port and --dir go with --enable, or with an event")
	case cmd.Flags().Changed("dir") && f.dir == "":
		return wrongUsage(cmd, "--dir: want a folder")
	}
	for _, port := range f.ports {
		if port < 1 || port > 65535 {
			return wrongUsage(cmd, "--port %d: want 1 to 65535", port)
		}
	}
	if orders == 1 {
		return a.clineHookOrder(f)
	}
	event := ""
	if len(args) > 0 {
		event = args[0]
	}
	a.passOn(cmd.Context(), f, event)
	return nil
}

// passOn gives the event on standard input to the bridges, or to the file. It
// never fails: an agent waits for it.
func (a *app) passOn(ctx context.Context, f clineHookFlags, event string) {
	hookproc.Harden()
	ports, file := a.receivers(f)
	body, err := a.readEvent(ctx)
	e, perr := bridge.ParseEvent(bridge.Cline, body)
	if native := perr == nil && e.Native || perr != nil && event != ""; native {
		// Cline waits for an answer to its own payloads, and to those alone.
		a.printf("%s\n", cline.EncodeReply(hook.Reply{}))
	}
	if err != nil {
		a.log.Line(fmt.Sprintf("cline-hook %s: standard input: %v", event, err))
		_ = file.LogError(ctx, "stdin_read_error", err, map[string]any{"bytes": len(body)})
		return
	}
	events := [][]byte{body}
	switch {
	case perr != nil:
		// No bridge takes it.
		ports = nil
	case e.Native:
		events = a.claudeForm(body, event)
	default:
		events[0] = e.Body
	}
	if err := bridge.Deliver(ctx, ports, 0, file, events...); err != nil {
		a.log.Line(fmt.Sprintf("cline-hook %s: %v", event, err))
	}
}

// claudeForm is what the payload is in Claude's form: no, one or several
// events. A payload that has none of that form goes on as it is.
func (a *app) claudeForm(body []byte, event string) [][]byte {
	dir, _ := os.Getwd()
	call, err := translate.FromCline(
		hook.Raw{Payload: body, Event: event, StoredAt: a.now(), Cwd: dir},
		translate.Context{Home: a.home, GOOS: a.goos})
	if err != nil {
		a.log.Line(fmt.Sprintf("cline-hook %s: passed on as it came: %v", event, err))
		return [][]byte{body}
	}
	var events [][]byte
	for _, e := range call.Events {
		events = append(events, e.Payload)
	}
	return events
}

// readEvent reads standard input to its end, or until the time for it is over:
// a pipe that nobody closes can be given no deadline.
func (a *app) readEvent(ctx context.Context) ([]byte, error) {
	type result struct {
		b   []byte
		err error
	}
	done := make(chan result, 1)
	go func() {
		b, err := io.ReadAll(io.LimitReader(a.stdin, bridge.MaxBody+1))
		if len(b) > bridge.MaxBody {
			_, _ = io.Copy(io.Discard, a.stdin)
			b, err = b[:bridge.MaxBody], fmt.Errorf("the event is too large, want up to %d bytes", bridge.MaxBody)
		}
		done <- result{b, err}
	}()
	ctx, cancel := context.WithTimeout(ctx, hookInput)
	defer cancel()
	select {
	case r := <-done:
		return r.b, r.err
	case <-ctx.Done():
		return nil, errors.New("not closed in time")
	}
}

// receivers are the ports and the file that the flags, or else the environment,
// name. A folder without a port means the file alone.
func (a *app) receivers(f clineHookFlags) ([]int, *bridge.FileStore) {
	ports, dir := f.ports, f.dir
	if len(ports) == 0 {
		ports = a.portsOf(a.getenv("PRINCIPLE_HOOK_PORTS"))
	}
	if dir == "" {
		dir = a.getenv("PRINCIPLE_HOOK_DIR")
	}
	if len(ports) == 0 && dir == "" {
		ports = []int{bridge.DefaultPort}
	}
	if dir == "" && a.clineDir() != "" {
		dir = filepath.Join(a.clineDir(), "hook-events")
	}
	return ports, &bridge.FileStore{Dir: a.tilde(dir), Agent: bridge.Cline, Now: a.now}
}

// portsOf reads a comma list of ports.
func (a *app) portsOf(list string) []int {
	var ports []int
	for word := range strings.SplitSeq(list, ",") {
		word = strings.TrimSpace(word)
		port, err := strconv.Atoi(word)
		switch {
		case word == "":
		case err != nil || port < 1 || port > 65535:
			a.log.Line(fmt.Sprintf("PRINCIPLE_HOOK_PORTS: %q is no port, want 1 to 65535", word))
		case !slices.Contains(ports, port):
			ports = append(ports, port)
		}
	}
	return ports
}

// clineDir is Cline's own folder; empty where no home is known.
func (a *app) clineDir() string {
	if dir := a.getenv("CLINE_DIR"); dir != "" {
		return dir
	}
	if a.home == "" {
		return ""
	}
	return filepath.Join(a.home, ".cline")
}
