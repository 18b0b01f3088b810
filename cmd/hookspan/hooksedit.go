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

	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/ui/hooks"
	"github.com/hookspan/hookspan/internal/userhooks"
	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
	"github.com/hookspan/hookspan/internal/userhooks/hookmatch"
	"github.com/hookspan/hookspan/internal/userhooks/shelltext"
)

// maxHookTimeout is the longest time limit that hooks add writes, in seconds.
// Cline's own limits are far below.
const maxHookTimeout = 86_400

// editFlags are the flags of the commands that edit a hooks.json.
type editFlags struct{ dryRun, noInstall *bool }

func newEditFlags(cmd *cobra.Command, project string) editFlags {
	projectFlag(cmd, project)
	return editFlags{dryRunFlag(cmd), cmd.Flags().Bool("no-install", false, "leave the hook files in Cline's folders as they are")}
}

func hooksAddCmd(a *app) *cobra.Command {
	var h hookfile.Handler
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
	}
	f := newEditFlags(cmd, "add to this project's .cline/hooks.json in place of your own file")
	flags := cmd.Flags()
	flags.StringVar(&h.Event, "event", "", "the event that starts the hook")
	flags.StringVar(&h.Matcher, "matcher", "", "only for these tools: a name, several with |, or an expression; all if not given")
	flags.StringVar(&h.If, "if", "", "only for calls that this permission rule fits, such as 'Bash(rm *)'")
	timeout := flags.Float64("timeout", 0, "time limit in seconds; 60 if not given")
	flags.BoolVar(&h.Async, "async", false, "do not wait for the hook; it can then decide nothing")
	flags.StringVar(&h.URL, "url", "", "in place of COMMAND: POST the event to this address")
	oneOf(cmd, "event", hookfile.Events()...)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if flags.Changed("timeout") && !(*timeout > 0 && *timeout <= maxHookTimeout) {
			return wrongUsage(cmd, "--timeout %v: want seconds, more than 0 and at most %d", *timeout, maxHookTimeout)
		}
		h.Timeout = time.Duration(*timeout * float64(time.Second))
		if err := completeHook(cmd, &h, args); err != nil {
			return err
		}
		return hooksAdd(a, cmd, h, f)
	}
	return cmd
}

// completeHook sets the command and checks the flags against one another before
// anything is touched.
func completeHook(cmd *cobra.Command, h *hookfile.Handler, args []string) error {
	h.Type = hookfile.TypeCommand
	switch {
	case h.Event == "":
		return wrongUsage(cmd, "--event: want one of %s", strings.Join(hookfile.Events(), ", "))
	case !slices.Contains(hookfile.Events(), h.Event):
		return wrongUsage(cmd, "--event %q: Cline gives none of that name: want one of %s", h.Event, strings.Join(hookfile.Events(), ", "))
	case h.URL != "" && len(args) > 0:
		return wrongUsage(cmd, "--url and a command: a hook is one of the two")
	case h.URL != "":
		h.Type = hookfile.TypeHTTP
	case len(args) == 0:
		return wrongUsage(cmd, "no command: want it after --, such as -- ~/guard.sh")
	case len(args) == 1:
		h.Command = args[0]
	default:
		words := make([]string, len(args))
		for i, word := range args {
			words[i] = shelltext.Word(word)
		}
		h.Command = strings.Join(words, " ")
	}
	if h.URL == "" && strings.TrimSpace(h.Command) == "" {
		return wrongUsage(cmd, "the command is empty")
	}
	if _, err := hookmatch.Compile(h.Event, h.Matcher); err != nil {
		return usageError{fmt.Errorf("--matcher: %w", err), cmd}
	}
	if h.If != "" {
		if _, err := hookmatch.ParseRule(h.If); err != nil {
			return usageError{fmt.Errorf("--if: %w", err), cmd}
		}
	}
	return nil
}

func hooksAdd(a *app, cmd *cobra.Command, h hookfile.Handler, f editFlags) error {
	dir, err := projectDir(cmd, false)
	if err != nil {
		return err
	}
	problems, err := hookSetup(a).CheckNew(h, dir)
	if err != nil {
		return usageError{err, cmd}
	}
	file, err := openHooksOf(a, dir)
	if err != nil {
		return err
	}
	after, _, err := hookfile.Add(file.Data, h)
	if err != nil {
		return fmt.Errorf("hooks file %q: %w: nothing was done to it", file.Path, err)
	}
	for _, p := range problems {
		a.printf("note: %s\n", termtext.Value(p.Text))
	}
	if _, err := saveHooks(a, file, after, true, *f.dryRun); err != nil {
		return err
	}
	return hookFiles(cmd.Context(), a, dir, []hookfile.Handler{h}, f)
}

func hooksRemoveCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "remove NUMBER | --event EVENT [--matcher MATCHER] [COMMAND]",
		Short: "Remove hooks from hooks.json",
		Long: `Remove the hook with the number that hooks list shows, or all of an event, with a
matcher or a command if given, from your own hooks.json or with --project from that of
a project. What goes is shown; the file as it was is kept beside it. A PreToolUse hook
file of Cline's that was installed for your hooks goes with the last hook that needs
it. The others stay: hookspan uninstall cline removes them.`,
		Args: takes(1, "one number, or the command of a hook"),
	}
	f := newEditFlags(cmd, "the project's folder")
	event := cmd.Flags().String("event", "", "hooks of this event")
	matcher := cmd.Flags().String("matcher", "", "hooks with exactly this matcher")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		limited := cmd.Flags().Changed("matcher")
		if *event == "" {
			if limited {
				return wrongUsage(cmd, "--matcher: goes with --event")
			}
			return removeNumber(a, cmd, f, args)
		}
		dir, err := projectDir(cmd, false)
		if err != nil {
			return err
		}
		file, err := openHooksOf(a, dir)
		if err != nil {
			return err
		}
		return removeFrom(cmd.Context(), a, file, f, func(h hookfile.Handler) bool {
			return h.Event == *event && (!limited || hooks.MatcherText(h.Matcher) == hooks.MatcherText(*matcher)) &&
				(len(args) == 0 || shelltext.Text(h) == args[0])
		})
	}
	return cmd
}

// removeNumber removes the hook that hooks list shows under a number.
func removeNumber(a *app, cmd *cobra.Command, f editFlags, args []string) error {
	if len(args) == 0 {
		return wrongUsage(cmd, "which hook: want the number that hookspan hooks list shows, or --event")
	}
	number, err := strconv.Atoi(args[0])
	if err != nil {
		return wrongUsage(cmd, "%q: want the number that hookspan hooks list shows, or --event with a command", args[0])
	}
	dir, err := projectDir(cmd, true)
	if err != nil {
		return err
	}
	sources := hookSetup(a).Sources(dir)
	src, hook, count := sources.Hook(number)
	if src.Path == "" {
		for _, s := range sources {
			if _, err := openHooks(s.Path, s.Project); err != nil {
				return err // its hooks have no numbers
			}
		}
		there := "are " + strconv.Itoa(count) + " hooks"
		if count == 1 {
			there = "is 1 hook"
		}
		return wrongUsage(cmd, "%d: there %s; hookspan hooks list shows them with their numbers", number, there)
	}
	file, err := openHooks(src.Path, src.Project)
	if err != nil {
		return err
	}
	// Equal hooks run once, so one number means all of them.
	return removeFrom(cmd.Context(), a, file, f, func(h hookfile.Handler) bool { return hookfile.Same(hook, h) })
}

func removeFrom(ctx context.Context, a *app, file *hookfile.Document, f editFlags, match func(hookfile.Handler) bool) error {
	if !file.Exists {
		a.printf("no hooks match: there is no %s\n", file.Path)
		return nil
	}
	after, removed, err := hookfile.Remove(file.Data, match)
	if err != nil {
		return fmt.Errorf("hooks file %q: %w: nothing was done to it", file.Path, err)
	}
	if len(removed) == 0 {
		a.printf("no hooks in %s match\n", file.Path)
		hint := "hookspan hooks list shows them"
		if file.Project {
			hint += ": hookspan hooks list --project " + shelltext.PromptWord(a.goos, hookfile.ProjectOf(file.Path))
		}
		a.hint(hint)
		return nil
	}
	for _, h := range removed {
		a.printf("remove   %s\n", a.whole(shelltext.Describe(h)))
	}
	if changed, err := saveHooks(a, file, after, false, *f.dryRun); err != nil || !changed || !userhooks.HasGuard(removed) {
		return err
	}
	return releaseHookFiles(ctx, a, *f.noInstall)
}

// openHooksOf opens the hooks.json of a project, or without one the user's.
func openHooksOf(a *app, dir string) (*hookfile.Document, error) {
	path, project, err := hookSetup(a).File(dir)
	if err != nil {
		return nil, err
	}
	return openHooks(path, project)
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
func saveHooks(a *app, d *hookfile.Document, after []byte, byUser, dryRun bool) (bool, error) {
	if d.Exists && bytes.Equal(d.Data, after) {
		a.printf("%s: nothing to change\n", d.Path)
		return false, nil
	}
	a.printf("%s\n", d.Path)
	printDiff(a, d.Diff(after, a.clean))
	if dryRun {
		a.printf("\nnothing was done (--dry-run)\n")
		return false, nil
	}
	trusted, err := d.WriteTrusted(after, hookSetup(a).Trust, byUser)
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
		a.hint("read what it runs, then: hookspan hooks trust " + shelltext.PromptWord(a.goos, hookfile.ProjectOf(d.Path)))
	}
	if d.Exists {
		a.printf("The file as it was: %s\n", d.Backup())
	}
	return true, nil
}
