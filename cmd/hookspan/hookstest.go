package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/internal/clinehooks/sample"
	"github.com/hookspan/hookspan/internal/termtext"
)

type hooksTestFlags struct {
	event, tool, input, file string
	result, prompt, dialect  string
	dryRun, debug            bool
}

func (a *app) hooksTestCmd() *cobra.Command {
	var f hooksTestFlags
	cmd := &cobra.Command{
		Use:   "test --event EVENT [--tool TOOL --json INPUT]",
		Short: "Run your hooks as if Cline had called, and show what they decide",
		Long: `Make up an event of Cline's, run your hooks for it and show every step: what the
event is in Claude Code's form, which hooks it starts and why, what each printed and
decided, and what Cline is told. Nothing is recorded, and Cline is not needed; the
hooks themselves really run. With --dry-run they do not.

EVENT is Claude Code's name or Cline's, TOOL is Cline's. Without --json a tool that
hookspan knows gets an input that harms nothing.

  hookspan hooks test --event PreToolUse --tool execute_command --json '{"command":"rm -rf /"}'
  hookspan hooks test --event UserPromptSubmit --prompt 'deploy it'
  hookspan hooks test --input payload.json

The exit code is 0 whatever the hooks decide.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.hooksTest(cmd, f) },
	}
	projectFlag(cmd, "the project's folder; the working directory if not given")
	cmd.Flags().StringVar(&f.event, "event", "", "the event")
	cmd.Flags().StringVar(&f.tool, "tool", "", "the tool, for events of a tool call; execute_command if not given")
	cmd.Flags().StringVar(&f.input, "json", "", "the tool's parameters, a JSON object")
	cmd.Flags().StringVar(&f.result, "result", "", "what the tool returned, or the task's result")
	cmd.Flags().StringVar(&f.prompt, "prompt", "", "the prompt, or another event's text")
	cmd.Flags().StringVar(&f.dialect, "dialect", "", "which Cline: classic (VS Code to 3.x, CLI 2), next (VS Code 4.1), sdk (CLI 3); what fits the tool if not given")
	cmd.Flags().StringVar(&f.file, "input", "", "in place of all that: a payload of Cline's from this file, - for standard input")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "show which hooks would run and start none")
	cmd.Flags().BoolVar(&f.debug, "debug", false, "show all of what hooks get and print, and each step of running them")
	_ = cmd.MarkFlagFilename("input")
	oneOf(cmd, "event", sample.EventNames()...)
	oneOf(cmd, "tool", sample.ToolNames()...)
	oneOf(cmd, "dialect", sample.Classic, sample.Next, sample.SDK)
	return cmd
}

func (a *app) hooksTest(cmd *cobra.Command, f hooksTestFlags) error {
	dir, err := projectDir(cmd, true)
	if err != nil {
		return err
	}
	var raw hook.Raw
	if cmd.Flags().Changed("input") {
		raw, err = a.recordedPayload(cmd, f, dir)
	} else {
		raw, err = a.madePayload(cmd, f, dir)
	}
	if err != nil {
		return err
	}
	if err := a.tryHooks(cmd.Context(), raw, f.dryRun, f.debug); err != nil {
		return err
	}
	a.hintUnknown(f.tool)
	return nil
}

// madePayload makes the event that the flags describe.
func (a *app) madePayload(cmd *cobra.Command, f hooksTestFlags, dir string) (hook.Raw, error) {
	if f.event == "" {
		return hook.Raw{}, wrongUsage(cmd, "--event: want one of %s", strings.Join(sample.EventNames(), ", "))
	}
	p, err := sample.Request{
		Event: f.event, Tool: f.tool, Input: f.input, Result: f.result, Prompt: f.prompt, Dialect: f.dialect,
		Given: cmd.Flags().Changed,
	}.Payload(dir, a.now())
	if err != nil {
		return hook.Raw{}, usageError{err, cmd}
	}
	payload, err := p.Encode()
	if err != nil {
		return hook.Raw{}, usageError{err, cmd}
	}
	return hook.Raw{Payload: payload, Event: p.Event.HookFile(), StoredAt: p.Now, Cwd: dir, TraceParent: a.cfg.Traceparent}, nil
}

// recordedPayload reads an event that Cline has sent. Hooks run in the project
// that it names, where that is on this machine.
func (a *app) recordedPayload(cmd *cobra.Command, f hooksTestFlags, dir string) (hook.Raw, error) {
	for _, name := range []string{"tool", "json", "result", "prompt", "dialect"} {
		if cmd.Flags().Changed(name) {
			return hook.Raw{}, wrongUsage(cmd, "--input and --%s: the payload says that", name)
		}
	}
	in := a.stdin
	switch f.file {
	case "":
		return hook.Raw{}, wrongUsage(cmd, "--input: want a file, or - for standard input")
	case "-":
	default:
		file, err := os.Open(f.file)
		if err != nil {
			return hook.Raw{}, fmt.Errorf("--input: %w", err)
		}
		defer func() { _ = file.Close() }()
		in = file
	}
	payload, err := io.ReadAll(io.LimitReader(in, maxHookPayload+1))
	if err == nil && len(payload) > maxHookPayload {
		err = fmt.Errorf("more than %d bytes", maxHookPayload)
	}
	if err != nil {
		return hook.Raw{}, fmt.Errorf("--input %s: %w", f.file, err)
	}
	raw := hook.Raw{Payload: payload, Event: f.event, StoredAt: a.now(), Cwd: dir, TraceParent: a.cfg.Traceparent}
	head := cline.Peek(payload, f.event)
	if head.Kind == hook.KindUnknown || !json.Valid(payload) {
		return hook.Raw{}, hinted{
			fmt.Errorf("--input %s: no event of Cline's that hookspan knows", f.file),
			"want the JSON object that Cline gives its hooks; --event names the hook where it does not",
		}
	}
	if raw.Event == "" {
		raw.Event = head.Name
	}
	if len(head.Dirs) > 0 && !cmd.Flags().Changed("project") {
		if info, err := os.Stat(head.Dirs[0]); err == nil && info.IsDir() {
			raw.Cwd = head.Dirs[0]
		}
	}
	return raw, nil
}

// tryHooks runs the hooks for an event and shows each step.
func (a *app) tryHooks(ctx context.Context, raw hook.Raw, dryRun, debug bool) error {
	h := a.clineHooks()
	t, err := h.Select(raw)
	if err != nil {
		return hinted{fmt.Errorf("the payload cannot be read: %w", err), "want the JSON object that Cline gives its hooks"}
	}
	p := trialPrinter{app: a, dryRun: dryRun, debug: debug}
	p.event(raw, t.Call)
	p.choice(t)
	if dryRun {
		a.printf("\nno hook was started (--dry-run)\n")
		return nil
	}
	if h.Trace = nil; debug {
		a.printf("\nsteps\n")
		// The runner makes one call at a time.
		h.Trace = func(format string, args ...any) { p.printf("  %s\n", termtext.Value(fmt.Sprintf(format, args...))) }
	}
	out, err := h.Try(ctx, raw)
	p.runs(&out)
	p.answer(&out)
	return err
}
