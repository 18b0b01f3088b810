package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/ui/hooks"
	"github.com/hookspan/hookspan/internal/userhooks"
	"github.com/hookspan/hookspan/internal/userhooks/sample"
)

func hooksTestCmd(a *app) *cobra.Command {
	var r sample.Request
	cmd := &cobra.Command{
		Use:   "test --event EVENT [--tool TOOL --json INPUT]",
		Short: "Run your hooks as if Cline had called, and show what they decide",
		Long: `Make up a Cline event, run your hooks for it and show every step: what the
event is in Claude Code's form, which hooks it starts and why, what each printed and
decided, and the answer to Cline. Nothing is recorded, and Cline is not needed; the
hooks themselves really run. With --dry-run they do not.

EVENT is Claude Code's name or Cline's, TOOL is Cline's. Without --json a tool that
hookspan knows gets an input that harms nothing.

  hookspan hooks test --event PreToolUse --tool execute_command --json '{"command":"rm -rf /"}'
  hookspan hooks test --event UserPromptSubmit --prompt 'deploy it'
  hookspan hooks test --input payload.json

The exit code is 0 whatever the hooks decide.`,
	}
	projectFlag(cmd, "the project's folder; the working directory if not given")
	flags := cmd.Flags()
	flags.StringVar(&r.Event, "event", "", "the event")
	flags.StringVar(&r.Tool, "tool", "", "the tool, for events of a tool call; execute_command if not given")
	flags.StringVar(&r.Input, "json", "", "the tool's parameters, a JSON object")
	flags.StringVar(&r.Result, "result", "", "what the tool returned, or the task's result")
	flags.StringVar(&r.Prompt, "prompt", "", "the prompt, or another event's text")
	flags.StringVar(&r.Dialect, "dialect", "", "which Cline: classic (VS Code to 3.x, CLI 2), next (VS Code 4.1), sdk (CLI 3); what fits the tool if not given")
	file := flags.String("input", "", "in place of all that: a Cline payload from this file, - for standard input")
	dryRun := flags.Bool("dry-run", false, "show which hooks would run and start none")
	debug := flags.Bool("debug", false, "show all of what hooks get and print, and each step of running them")
	_ = cmd.MarkFlagFilename("input")
	oneOf(cmd, "event", sample.EventNames()...)
	oneOf(cmd, "tool", sample.ToolNames()...)
	oneOf(cmd, "dialect", sample.Classic, sample.Next, sample.SDK)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		dir, err := projectDir(cmd, true)
		if err != nil {
			return err
		}
		raw := hook.Raw{StoredAt: a.now(), Cwd: dir, TraceParent: a.cfg.Traceparent}
		if flags.Changed("input") {
			err = recordedPayload(a, cmd, &raw, *file, r.Event)
		} else {
			r.Given = flags.Changed
			err = madePayload(cmd, &raw, r)
		}
		if err == nil {
			err = tryHooks(cmd.Context(), a, raw, *dryRun, *debug)
		}
		if err == nil {
			hintUnknown(a, r.Tool)
		}
		return err
	}
	return cmd
}

// madePayload makes the event that the flags describe.
func madePayload(cmd *cobra.Command, raw *hook.Raw, r sample.Request) error {
	if r.Event == "" {
		return wrongUsage(cmd, "--event: want one of %s", strings.Join(sample.EventNames(), ", "))
	}
	p, err := r.Payload(raw.Cwd, raw.StoredAt)
	if err == nil {
		raw.Event = p.Event.HookFile()
		raw.Payload, err = p.Encode()
	}
	if err != nil {
		return usageError{err, cmd}
	}
	return nil
}

// recordedPayload reads an event that Cline has sent. Hooks run in the project
// that it names, where that is on this machine.
func recordedPayload(a *app, cmd *cobra.Command, raw *hook.Raw, name, event string) error {
	for _, flag := range []string{"tool", "json", "result", "prompt", "dialect"} {
		if cmd.Flags().Changed(flag) {
			return wrongUsage(cmd, "--input and --%s: the payload says that", flag)
		}
	}
	in := a.stdin
	switch name {
	case "":
		return wrongUsage(cmd, "--input: want a file, or - for standard input")
	case "-":
	default:
		file, err := os.Open(name)
		if err != nil {
			return fmt.Errorf("--input: %w", err)
		}
		defer func() { _ = file.Close() }()
		in = file
	}
	payload, err := io.ReadAll(io.LimitReader(in, userhooks.MaxPayload+1))
	if err == nil && len(payload) > userhooks.MaxPayload {
		err = fmt.Errorf("more than %d bytes", userhooks.MaxPayload)
	}
	if err != nil {
		return fmt.Errorf("--input %s: %w", name, err)
	}
	head := cline.Peek(payload, event)
	if head.Kind == hook.KindUnknown || !json.Valid(payload) {
		return hinted{
			fmt.Errorf("--input %s: no event of Cline's that hookspan knows", name),
			"want the JSON object that Cline gives its hooks; --event names the hook where it does not",
		}
	}
	raw.Payload, raw.Event = payload, cmp.Or(event, head.Name)
	if len(head.Dirs) > 0 && !cmd.Flags().Changed("project") {
		if info, err := os.Stat(head.Dirs[0]); err == nil && info.IsDir() {
			raw.Cwd = head.Dirs[0]
		}
	}
	return nil
}

// tryHooks runs the hooks for an event and shows each step.
func tryHooks(ctx context.Context, a *app, raw hook.Raw, dryRun, debug bool) error {
	h := hooksOf(a).Hooks()
	t, err := h.Select(raw)
	if err != nil {
		return hinted{fmt.Errorf("the payload cannot be read: %w", err), "want the JSON object that Cline gives its hooks"}
	}
	p := hooks.TrialText{Text: a.hooksText(), DryRun: dryRun, Debug: debug, Off: !a.cfg.Hooks}
	p.Event(raw, t.Call)
	if p.Choice(t); len(t.Sources) == 0 {
		a.hint("hookspan hooks add makes one")
	}
	if dryRun {
		a.printf("\nno hook was started (--dry-run)\n")
		return nil
	}
	h.Trace = nil
	if debug {
		a.printf("\nsteps\n")
		// The runner makes one call at a time.
		h.Trace = func(format string, args ...any) { p.Printf("  %s\n", termtext.Value(fmt.Sprintf(format, args...))) }
	}
	out, err := h.Try(ctx, raw)
	p.Runs(&out)
	p.Answer(&out)
	return err
}
