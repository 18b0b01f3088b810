package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/internal/clinehooks"
	"github.com/hookspan/hookspan/internal/clinehooks/hookfile"
	"github.com/hookspan/hookspan/internal/clinehooks/hookmatch"
	"github.com/hookspan/hookspan/internal/termtext"
)

// maxHookTimeout is the longest time limit that hooks add writes, in seconds.
// Cline's own limits are far below.
const maxHookTimeout = 86_400

type hooksAddFlags struct {
	event, matcher, rule string
	url                  string
	timeout              float64
	async                bool
	dryRun, noInstall    bool
}

func (a *app) hooksAddCmd() *cobra.Command {
	var f hooksAddFlags
	cmd := &cobra.Command{
		Use:   "add --event EVENT [--matcher MATCHER] -- COMMAND",
		Short: "Add a hook to hooks.json",
		Long: `Add a hook to your own hooks.json, or with --project to that of a project, which is
then trusted if nothing else was in it. COMMAND in one word is a line for the shell;
several words are a program and its arguments. EVENT is Claude Code's name:
` + strings.Join(hookfile.Events(), ", ") + `.

  hookspan hooks add --event PreToolUse --matcher Bash -- ~/guard.sh
  hookspan hooks add --event PostToolUse --matcher 'Edit|Write' --timeout 20 -- 'make fmt >&2'

Adding the same hook twice changes nothing. Where Cline has no hook file of
hookspan's for the event yet, it is installed, unless --no-install is given.

` + editorsRisk,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return a.hooksAdd(cmd, f, args) },
	}
	projectFlag(cmd, "add to this project's .cline/hooks.json in place of your own file")
	cmd.Flags().StringVar(&f.event, "event", "", "the event that starts the hook")
	cmd.Flags().StringVar(&f.matcher, "matcher", "", "only for these tools: a name, several with |, or an expression; all if not given")
	cmd.Flags().StringVar(&f.rule, "if", "", "only for calls that this permission rule fits, such as 'Bash(rm *)'")
	cmd.Flags().Float64Var(&f.timeout, "timeout", 0, "time limit in seconds; 60 if not given")
	cmd.Flags().BoolVar(&f.async, "async", false, "do not wait for the hook; it can then decide nothing")
	cmd.Flags().StringVar(&f.url, "url", "", "in place of COMMAND: POST the event to this address")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "show what would be done and do nothing")
	cmd.Flags().BoolVar(&f.noInstall, "no-install", false, "do not install hook files into Cline's folders")
	oneOf(cmd, "event", hookfile.Events()...)
	return cmd
}

// handler checks the words against one another before anything is touched.
func (f *hooksAddFlags) handler(cmd *cobra.Command, args []string) (hookfile.Handler, error) {
	h := hookfile.Handler{Event: f.event, Matcher: f.matcher, If: f.rule, Async: f.async, Type: hookfile.TypeCommand}
	switch {
	case f.event == "":
		return h, wrongUsage(cmd, "--event: want one of %s", strings.Join(hookfile.Events(), ", "))
	case !slices.Contains(hookfile.Events(), f.event):
		return h, wrongUsage(cmd, "--event %q: Cline gives none of that name: want one of %s", f.event, strings.Join(hookfile.Events(), ", "))
	case f.url != "" && len(args) > 0:
		return h, wrongUsage(cmd, "--url and a command: a hook is one of the two")
	case f.url != "":
		h.Type, h.URL = hookfile.TypeHTTP, f.url
	case len(args) == 0:
		return h, wrongUsage(cmd, "no command: want it after --, such as -- ~/guard.sh")
	case len(args) == 1:
		h.Command = args[0]
	default:
		words := make([]string, len(args))
		for i, word := range args {
			words[i] = hookfile.ShellWord(word)
		}
		h.Command = strings.Join(words, " ")
	}
	if h.URL == "" && strings.TrimSpace(h.Command) == "" {
		return h, wrongUsage(cmd, "the command is empty")
	}
	if cmd.Flags().Changed("timeout") && !(f.timeout > 0 && f.timeout <= maxHookTimeout) {
		return h, wrongUsage(cmd, "--timeout %v: want seconds, more than 0 and at most %d", f.timeout, maxHookTimeout)
	}
	h.Timeout = time.Duration(f.timeout * float64(time.Second))
	if _, err := hookmatch.Compile(h.Event, h.Matcher); err != nil {
		return h, usageError{fmt.Errorf("--matcher: %w", err), cmd}
	}
	if h.If != "" {
		if _, err := hookmatch.ParseRule(h.If); err != nil {
			return h, usageError{fmt.Errorf("--if: %w", err), cmd}
		}
	}
	return h, nil
}

func (a *app) hooksAdd(cmd *cobra.Command, f hooksAddFlags, args []string) error {
	h, err := f.handler(cmd, args)
	if err != nil {
		return err
	}
	dir, err := projectDir(cmd, false)
	if err != nil {
		return err
	}
	setup := a.hookSetup()
	problems, err := setup.CheckNew(h, dir)
	if err != nil {
		return usageError{err, cmd}
	}
	path, project, err := setup.File(dir)
	if err != nil {
		return err
	}
	file, err := openHooks(path, project)
	if err != nil {
		return err
	}
	after, _, err := hookfile.Add(file.Data, h)
	if err != nil {
		return fmt.Errorf("hooks file %q: %w: nothing was done to it", path, err)
	}
	for _, p := range problems {
		a.printf("note: %s\n", termtext.Value(p.Text))
	}
	if _, err := a.saveHooks(file, after, true, f.dryRun); err != nil {
		return err
	}
	return a.hookFiles(cmd.Context(), dir, []hookfile.Handler{h}, f.dryRun, f.noInstall)
}

type hooksRemoveFlags struct {
	event, matcher string
	dryRun         bool
	noInstall      bool
}

func (a *app) hooksRemoveCmd() *cobra.Command {
	var f hooksRemoveFlags
	cmd := &cobra.Command{
		Use:   "remove NUMBER | --event EVENT [--matcher MATCHER] [COMMAND]",
		Short: "Remove hooks from hooks.json",
		Long: `Remove the hook with the number that hooks list shows, or all of an event, with a
matcher or a command if given, from your own hooks.json or with --project from that of
a project. What goes is shown; the file as it was is kept beside it. A PreToolUse hook
file of Cline's that was installed for your hooks goes with the last hook that needs
it. The others stay: hookspan uninstall cline removes them.`,
		Args: takes(1, "one number, or the command of a hook"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.hooksRemove(cmd, f, args) },
	}
	projectFlag(cmd, "the project's folder")
	cmd.Flags().StringVar(&f.event, "event", "", "hooks of this event")
	cmd.Flags().StringVar(&f.matcher, "matcher", "", "hooks with exactly this matcher")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "show what would be done and do nothing")
	cmd.Flags().BoolVar(&f.noInstall, "no-install", false, "leave the hook files in Cline's folders as they are")
	return cmd
}

func (a *app) hooksRemove(cmd *cobra.Command, f hooksRemoveFlags, args []string) error {
	if f.event == "" {
		number, err := 0, error(nil)
		if len(args) == 1 {
			number, err = strconv.Atoi(args[0])
		}
		switch {
		case cmd.Flags().Changed("matcher"):
			return wrongUsage(cmd, "--matcher: goes with --event")
		case len(args) == 0:
			return wrongUsage(cmd, "which hook: want the number that hookspan hooks list shows, or --event")
		case err != nil:
			return wrongUsage(cmd, "%q: want the number that hookspan hooks list shows, or --event with a command", args[0])
		}
		return a.removeNumber(cmd, f, number)
	}
	dir, err := projectDir(cmd, false)
	if err != nil {
		return err
	}
	path, project, err := a.hookSetup().File(dir)
	if err != nil {
		return err
	}
	return a.removeFrom(cmd.Context(), path, project, f, func(h hookfile.Handler) bool {
		switch {
		case h.Event != f.event,
			cmd.Flags().Changed("matcher") && matcherText(h.Matcher) != matcherText(f.matcher),
			len(args) == 1 && h.Text() != args[0]:
			return false
		}
		return true
	})
}

// removeNumber removes the hook that hooks list shows under a number.
func (a *app) removeNumber(cmd *cobra.Command, f hooksRemoveFlags, number int) error {
	dir, err := projectDir(cmd, true)
	if err != nil {
		return err
	}
	src, hook, count := a.hookSetup().Sources(dir).Hook(number)
	if src.Path == "" {
		there := "are " + strconv.Itoa(count) + " hooks"
		if count == 1 {
			there = "is 1 hook"
		}
		return wrongUsage(cmd, "%d: there %s; hookspan hooks list shows them with their numbers", number, there)
	}
	// Equal hooks run once, so one number means all of them.
	return a.removeFrom(cmd.Context(), src.Path, src.Project, f, func(h hookfile.Handler) bool { return hookfile.Same(hook, h) })
}

func (a *app) removeFrom(ctx context.Context, path string, project bool, f hooksRemoveFlags, match func(hookfile.Handler) bool) error {
	file, err := openHooks(path, project)
	if err != nil {
		return err
	}
	if !file.Exists {
		a.printf("no hooks match: there is no %s\n", path)
		return nil
	}
	after, removed, err := hookfile.Remove(file.Data, match)
	if err != nil {
		return fmt.Errorf("hooks file %q: %w: nothing was done to it", path, err)
	}
	if len(removed) == 0 {
		a.printf("no hooks in %s match\n", path)
		hint := "hookspan hooks list shows them"
		if project {
			hint += ": hookspan hooks list --project " + hookfile.ShellWord(hookfile.ProjectOf(path))
		}
		a.hint(hint)
		return nil
	}
	for _, h := range removed {
		a.printf("remove   %s\n", termtext.Value(a.clean(hookfile.Describe(h))))
	}
	if changed, err := a.saveHooks(file, after, false, f.dryRun); err != nil || !changed || !clinehooks.HasGuard(removed) {
		return err
	}
	return a.releaseHookFiles(ctx, f.noInstall)
}

// openHooks reads a hooks.json that is to be edited or trusted.
func openHooks(path string, project bool) (*hookfile.Document, error) {
	d, err := hookfile.Open(path, project)
	if errors.As(err, new(*hookfile.SyntaxError)) {
		err = hinted{err, "nothing was done to the file: fix it at that place and run this again"}
	}
	return d, err
}

// saveHooks shows the change of a hooks.json and makes it, and reports whether
// something was changed. byUser is as in [hookfile.Document.WriteTrusted].
func (a *app) saveHooks(d *hookfile.Document, after []byte, byUser, dryRun bool) (bool, error) {
	if d.Exists && bytes.Equal(d.Data, after) {
		a.printf("%s: nothing to change\n", d.Path)
		return false, nil
	}
	a.printf("%s\n", d.Path)
	a.printDiff(d.Diff(after, a.clean))
	if dryRun {
		a.printf("\nnothing was done (--dry-run)\n")
		return false, nil
	}
	trusted, err := d.WriteTrusted(after, a.trust(), byUser)
	if err != nil {
		return false, err
	}
	if d.Project || d.Exists {
		a.printf("\n")
	}
	switch {
	case trusted:
		a.printf("It is trusted, since what is in it is yours: its hooks run when you work in this project.\n")
	case d.Project:
		a.printf("It is not trusted, so its hooks do not run.\n")
		a.hint("read what it runs, then: hookspan hooks trust " + hookfile.ShellWord(hookfile.ProjectOf(d.Path)))
	}
	if d.Exists {
		a.printf("The file as it was: %s\n", d.Backup())
	}
	return true, nil
}
