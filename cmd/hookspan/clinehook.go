package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/bridge"
	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/record"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
	"github.com/hookspan/hookspan/internal/userhooks/shelltext"
	"github.com/hookspan/hookspan/internal/userhooks/translate"
)

type clineHookFlags struct {
	ports []int
	dir   string
}

// forwardingHelp ends the help of both commands.
const forwardingHelp = `PRINCIPLE_HOOK_PORTS and PRINCIPLE_HOOK_DIR replace --port and --dir. Without any of
them it is port 3043 and ~/.cline/hook-events.`

// forwardingCmd adds what both commands have.
func forwardingCmd(c *cobra.Command) (*cobra.Command, *clineHookFlags) {
	var f clineHookFlags
	c.Hidden, c.Args = true, takes(1, "at most the event's name")
	c.Flags().IntSliceVar(&f.ports, "port", nil, "port of a bridge on this machine; may be given several times")
	c.Flags().StringVar(&f.dir, "dir", "", "folder of the file that keeps what no bridge takes")
	return c, &f
}

// clineHookCmd is what cline-hook hands over to when it is started with a flag.
func clineHookCmd(a *app) *cobra.Command {
	c, f := forwardingCmd(&cobra.Command{
		Use:   "cline-hook [EVENT]",
		Short: "Pass hook events of Cline on to a bridge, or put that into hooks.json",
		Long: `cline-hook passes the event on its standard input on to a bridge on this machine, and
keeps it in a file where none answers. It decides nothing and prints nothing, so it can
be a command in hooks.json. cline-hook --enable puts it there.

  cline-hook --port 3043 --dir ~/.cline/hook-events   pass one event on
  cline-hook --dir DIR                                keep it in the file alone
  cline-hook --enable | --disable | --status          ~/.cline/hooks.json

` + forwardingHelp,
	})
	actions := map[string]*bool{
		"enable":  c.Flags().Bool("enable", false, "have Cline's events passed on, by entries in hooks.json"),
		"disable": c.Flags().Bool("disable", false, "take these entries out of hooks.json"),
		"status":  c.Flags().Bool("status", false, "say whether they are there"),
	}
	asJSON := c.Flags().Bool("json", false, "print the outcome of --enable, --disable or --status as JSON")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		action := ""
		for name, given := range actions {
			switch {
			case *given && action != "":
				return wrongUsage(cmd, "want one of --enable, --disable and --status")
			case *given:
				action = name
			}
		}
		if err := f.check(cmd, action, args, *asJSON); err != nil {
			return err
		}
		if action != "" {
			return editForwarding(cmd.Context(), a, *f, action, *asJSON)
		}
		forwardEvent(cmd.Context(), a, *f, bridge.Cline, strings.Join(args, ""))
		return nil
	}
	return c
}

// claudeHookCmd is what claude-hook hands over to when it is started with a flag.
func claudeHookCmd(a *app) *cobra.Command {
	c, f := forwardingCmd(&cobra.Command{
		Use:   "claude-hook [EVENT]",
		Short: "Pass hook events in Claude Code's form on to a bridge",
		Long: `claude-hook passes the event on its standard input on to a bridge on this machine, to
/claude-hook, and keeps it in a file where none answers. It decides nothing and prints
nothing, so it can be a command in settings.json, and in Cline's hooks.json.

  claude-hook --port 3043 --dir ~/.cline/hook-events   pass one event on
  claude-hook --dir DIR                                keep it in the file alone

` + forwardingHelp,
	})
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if err := f.check(cmd, "", args, false); err != nil {
			return err
		}
		forwardEvent(cmd.Context(), a, *f, bridge.Claude, strings.Join(args, ""))
		return nil
	}
	return c
}

// check checks the flags against one another. action is --enable, --disable or
// --status without the dashes, or empty.
func (f clineHookFlags) check(cmd *cobra.Command, action string, args []string, asJSON bool) error {
	dir := cmd.Flags().Changed("dir")
	switch {
	case action != "" && len(args) > 0:
		return wrongUsage(cmd, "unexpected %q: --enable, --disable and --status take no event", args[0])
	case action == "" && asJSON:
		return wrongUsage(cmd, "--json goes with --enable, --disable or --status")
	case (action == "disable" || action == "status") && (dir || cmd.Flags().Changed("port")):
		return wrongUsage(cmd, "--port and --dir go with --enable, or with an event")
	case dir && f.dir == "":
		return wrongUsage(cmd, "--dir: want a folder")
	}
	for _, port := range f.ports {
		if port < 1 || port > 65535 {
			return wrongUsage(cmd, "--port %d: want 1 to 65535", port)
		}
	}
	return nil
}

// forwardEvent forwards the event on standard input to the bridges, or to the file.
func forwardEvent(ctx context.Context, a *app, f clineHookFlags, agent bridge.Provider, event string) {
	record.Harden()
	ports, file := receivers(a, f)
	file.Agent = agent
	forwarder := &bridge.Forwarder{Provider: agent, Ports: ports, File: file, Log: a.log.Line, Convert: func(body []byte) ([][]byte, error) {
		dir, _ := os.Getwd()
		call, err := translate.FromCline(hook.Raw{Payload: body, Event: event, StoredAt: a.now(), Cwd: dir},
			translate.Context{GOOS: a.goos})
		if err != nil {
			return nil, err
		}
		var events [][]byte
		for _, e := range call.Events {
			events = append(events, e.Payload)
		}
		return events, nil
	}}
	began := a.now()
	forwarder.Forward(ctx, a.stdin, a.stdout.Writer, event) // Errors are not reported to the agent.
	if a.cfg.HooksDebug {
		a.log.Line(fmt.Sprintf("%s-hook %s: posted to ports %v, else kept in %s, after %v", agent, event, ports, file.Dir, a.now().Sub(began).Round(time.Microsecond)))
	}
}

// receivers are the ports and the file that the flags, or else the environment,
// name. A folder without a port means the file alone.
func receivers(a *app, f clineHookFlags) ([]int, *bridge.FileStore) {
	ports, dir := f.ports, cmp.Or(f.dir, a.getenv("PRINCIPLE_HOOK_DIR"))
	if len(ports) == 0 {
		var err error
		if ports, err = bridge.ParsePorts(a.getenv("PRINCIPLE_HOOK_PORTS")); err != nil {
			a.log.Line("PRINCIPLE_HOOK_PORTS: " + strings.ReplaceAll(err.Error(), "\n", "; "))
		}
	}
	if len(ports) == 0 && dir == "" {
		ports = []int{bridge.DefaultPort}
	}
	if dir == "" && clineDir(a) != "" {
		dir = filepath.Join(clineDir(a), "hook-events")
	}
	return ports, &bridge.FileStore{Dir: a.tilde(dir), Agent: bridge.Cline, Now: a.now}
}

// clineDir is Cline's folder; empty where no home is known.
func clineDir(a *app) string {
	user, _ := hookfile.Files(a.home, a.getenv("CLINE_DIR"), nil)
	if user == "" {
		return ""
	}
	return filepath.Dir(user)
}

// exitBadFile is the exit code for a hooks.json that cannot be understood.
const exitBadFile exitError = 3

// forwardingOutcome is what --json prints.
type forwardingOutcome struct {
	Success    bool     `json:"success"`
	Agent      string   `json:"agent"`
	Action     string   `json:"action"`
	ConfigPath string   `json:"configPath"`
	HookCount  int      `json:"hookCount"`
	HookTypes  []string `json:"hookTypes"`
	// Foreign are the entries of the agent-hooks package.
	Foreign int    `json:"agentHooksCount,omitempty"`
	Backup  string `json:"backup,omitempty"`
	Error   string `json:"error,omitempty"`
}

// editForwarding carries out --enable, --disable or --status.
func editForwarding(ctx context.Context, a *app, f clineHookFlags, action string, asJSON bool) error {
	path, _ := hookfile.Files(a.home, a.getenv("CLINE_DIR"), nil)
	if path == "" {
		return errors.New("no home folder is known: set HOME")
	}
	command, err := "", error(nil)
	if action == "enable" {
		command, err = forwardCommand(ctx, a, f)
	}
	var found hookfile.Forwarding
	if err == nil {
		found, err = hookfile.Forward(path, action, command)
	}
	bad := errors.As(err, new(*hookfile.UnreadableError))
	out := forwardingOutcome{
		Success: err == nil, Agent: "cline", Action: action, ConfigPath: path, HookCount: found.Count,
		HookTypes: append([]string{}, found.Events...), Foreign: found.Foreign, Backup: found.Backup,
	}
	if asJSON {
		if err != nil {
			out.Error = err.Error()
		}
		if perr := a.printJSON(out); perr != nil || err == nil {
			return perr
		}
	}
	switch {
	case asJSON && !bad:
		return exitError(1)
	case bad && !asJSON:
		a.warnf("%v", err)
		a.hint("fix the file by hand; nothing was changed")
		fallthrough
	case bad:
		return exitBadFile
	case err != nil:
		return err
	}
	state := "disabled"
	if out.HookCount > 0 {
		state = "enabled"
	}
	a.printf("Cline hooks: %s (%s)\n", state, termtext.Plural(out.HookCount, "hook"))
	if out.Foreign > 0 {
		a.printf("%s of %s in the file: kept as found\n", termtext.Plural(out.Foreign, "hook"), hookfile.AgentHooks)
	}
	if out.Backup != "" {
		a.printf("the file as it was: %s\n", out.Backup)
	}
	if out.HookCount == 0 {
		return nil
	}
	handlers := make([]hookfile.Handler, len(found.Events))
	for i, event := range found.Events {
		handlers[i].Event = event
	}
	return printHosts(ctx, a, "", handlers)
}

// forwardCommand is the shell line of an entry. It names the copies of hookspan's programs,
// which stay where this one may not: in an unpacked archive, or npx's cache.
func forwardCommand(ctx context.Context, a *app, f clineHookFlags) (string, error) {
	var o install.Options
	if err := machineOf(a).UseCopy(hook.ProgramCline, &o); err != nil {
		return "", err
	}
	if _, err := machineOf(a).CopyPrograms(ctx); err != nil {
		return "", err
	}
	ports, file := receivers(a, f)
	dir, err := filepath.Abs(file.Dir)
	if err != nil {
		return "", fmt.Errorf("--dir %q: %w", file.Dir, err)
	}
	return shelltext.ForwardCommand(a.goos, a.home, o.Binary, ports, dir), nil
}
