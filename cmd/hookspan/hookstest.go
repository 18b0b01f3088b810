package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/internal/clinehooks"
	"github.com/hookspan/hookspan/internal/clinehooks/hookrun"
	"github.com/hookspan/hookspan/internal/clinehooks/sample"
	"github.com/hookspan/hookspan/internal/clinehooks/translate"
	"github.com/hookspan/hookspan/internal/termtext"
)

type hooksTestFlags struct {
	project                  projectFlag
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
		Args: takes(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.hooksTest(cmd, f) },
	}
	f.project.register(cmd, "the project's folder; the working directory if not given")
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
	_ = cmd.RegisterFlagCompletionFunc("event", cobra.FixedCompletions(testEvents(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("tool", cobra.FixedCompletions(testTools(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("dialect", cobra.FixedCompletions(
		[]cobra.Completion{sample.Classic, sample.Next, sample.SDK}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func testEvents() []cobra.Completion {
	var out []cobra.Completion
	for _, m := range sample.Events() {
		if len(out) == 0 || out[len(out)-1] != m.Claude {
			out = append(out, m.Claude)
		}
	}
	return out
}

func testTools() []cobra.Completion {
	var out []cobra.Completion
	for _, t := range sample.Tools() {
		if len(out) == 0 || out[len(out)-1] != t.Name {
			out = append(out, t.Name)
		}
	}
	return out
}

func (a *app) hooksTest(cmd *cobra.Command, f hooksTestFlags) error {
	dir, err := f.project.folder(cmd, true)
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
	if f.tool != "" && !sample.KnownTool(f.tool) {
		a.hintUnknown(f.tool)
	}
	return nil
}

// madePayload makes the event that the flags describe.
func (a *app) madePayload(cmd *cobra.Command, f hooksTestFlags, dir string) (hook.Raw, error) {
	changed := cmd.Flags().Changed
	if f.event == "" {
		return hook.Raw{}, wrongUsage(cmd, "--event: want one of %s", strings.Join(testEvents(), ", "))
	}
	m, err := sample.FindEvent(f.event)
	if err != nil {
		return hook.Raw{}, usageError{fmt.Errorf("--%w", err), cmd}
	}
	p := sample.Payload{Event: m, Dialect: f.dialect, Tool: f.tool, Root: dir, Now: a.now(), Text: f.prompt}
	switch {
	case changed("dialect") && f.dialect == "":
		return hook.Raw{}, wrongUsage(cmd, "--dialect: want classic, next or sdk")
	case !m.Tool() && (changed("tool") || changed("json")):
		return hook.Raw{}, wrongUsage(cmd, "--tool and --json: %s belongs to no tool call", m.Claude)
	case m.Tool() && changed("prompt"):
		return hook.Raw{}, wrongUsage(cmd, "--prompt: %s belongs to a tool call: --json has its parameters", m.Claude)
	case changed("result") && (m.SDK == "tool_call" || m.SDK == "prompt_submit"):
		return hook.Raw{}, wrongUsage(cmd, "--result: there is none yet when %s comes", m.Claude)
	case changed("json") && !isObject(f.input):
		return hook.Raw{}, wrongUsage(cmd, "--json %q: want a JSON object with the tool's parameters, such as '{\"command\":\"ls\"}'", f.input)
	}
	if changed("result") {
		p.Text = f.result
	}
	if m.Tool() {
		if changed("json") {
			p.Input = json.RawMessage(f.input)
		}
		if p.Tool == "" && f.dialect != "" && f.dialect != sample.Classic {
			p.Tool = "run_commands"
		} else if p.Tool == "" {
			p.Tool = "execute_command"
		}
		if !changed("result") && m.SDK == "tool_result" {
			p.Text = "a result that hookspan hooks test made up"
		}
	}
	if err := p.Complete(); err != nil {
		return hook.Raw{}, usageError{err, cmd}
	}
	payload, err := p.Encode()
	if err != nil {
		return hook.Raw{}, usageError{err, cmd}
	}
	return hook.Raw{Payload: payload, Event: m.HookFile(), StoredAt: p.Now, Cwd: dir, TraceParent: a.cfg.Traceparent}, nil
}

func isObject(text string) bool {
	var o map[string]json.RawMessage
	return json.Unmarshal([]byte(text), &o) == nil && o != nil
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

// tryHooks runs the hooks for an event and shows all of it.
func (a *app) tryHooks(ctx context.Context, raw hook.Raw, dryRun, debug bool) error {
	call, err := translate.FromCline(raw, translate.Context{Home: a.home, GOOS: a.goos})
	if err != nil {
		return hinted{fmt.Errorf("the payload cannot be read: %w", err), "want the JSON object that Cline gives its hooks"}
	}
	p := hookPrinter{app: a, dryRun: dryRun, debug: debug}
	p.event(raw, call)
	roots := cline.Peek(raw.Payload, raw.Event).Dirs
	if len(roots) == 0 {
		roots = []string{raw.Cwd}
	}
	sources := clinehooks.Find(a.home, a.getenv("CLINE_DIR"), roots, a.trust())
	r := &hookrun.Runner{Dir: raw.Cwd, ProjectDir: roots[0], Home: a.home, GOOS: a.goos}
	p.choice(sources, r.Select(sources.Handlers(), clinehooks.Events(call)), call)
	if dryRun {
		a.printf("\nno hook was started (--dry-run)\n")
		return nil
	}
	dir, err := os.MkdirTemp("", "hookspan-test-")
	if err != nil {
		return fmt.Errorf("folder for the test: %w", err)
	}
	h := a.clineHooks()
	h.Dir = filepath.Join(dir, "hooks")
	if h.Trace = nil; debug {
		a.printf("\nsteps\n")
		// The runner tells one at a time.
		h.Trace = func(format string, args ...any) { p.printf("  %s\n", termtext.Value(fmt.Sprintf(format, args...))) }
	}
	out := h.Run(ctx, raw)
	// Before anything else is printed, since whoever reads it may be gone.
	err = os.RemoveAll(dir)
	p.runs(&out)
	p.answer(&out)
	return errors.Join(ctx.Err(), err)
}
