package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hookspan/hookspan/config"
)

// usageError reports a wrong command line.
type usageError struct {
	error
	command *cobra.Command
}

func (u usageError) Unwrap() error { return u.error }

// wrongUsage returns the error for wrong arguments of a command.
func wrongUsage(cmd *cobra.Command, format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...), cmd}
}

// unknownCommand returns an error that suggests a command.
func unknownCommand(cmd *cobra.Command, word string) error {
	text := fmt.Sprintf("unknown command %q", word)
	if path := cmd.CommandPath(); cmd.HasParent() {
		text += " for " + path
	}
	if right := tried[word]; right != "" && !cmd.HasParent() {
		return hinted{usageError{errors.New(text), cmd}, right}
	}
	if like := cmd.SuggestionsFor(word); len(like) > 0 {
		text += fmt.Sprintf(": did you mean %s?", strings.Join(like, " or "))
	} else if cmd.HasParent() {
		var names []string
		for _, c := range cmd.Commands() {
			if !c.Hidden {
				names = append(names, c.Name())
			}
		}
		text += ": want one of " + strings.Join(names, ", ")
	}
	return usageError{errors.New(text), cmd}
}

const (
	findWords  = `hookspan list --grep "WORDS"`
	findFailed = "hookspan list --failed, hookspan calls --failed"
	private    = "HOOKSPAN_DISABLED_PROJECTS=FOLDER in the file that hookspan status names keeps a folder unrecorded"
)

// tried are the commands that answer what people ask for by another word.
var tried = map[string]string{
	"today": "hookspan list --since today", "cost": "hookspan stats --by model, or hookspan show --cost for one task", "week": "hookspan report",
	"diff": "hookspan calls --edits --full", "why": "hookspan show --failed --full", "share": "hookspan export ID -o task.html",
	"find": findWords, "search": findWords, "grep": findWords, "denied": "hookspan list --denied", "failed": findFailed, "errors": findFailed,
	"tasks": "hookspan list", "traces": "hookspan list", "history": "hookspan list", "log": "hookspan list", "last": "hookspan show", "trace": "hookspan show ID",
	"session": "hookspan show --session", "sessions": "hookspan stats --by session", "model": "hookspan stats --by model", "models": "hookspan stats --by model",
	"stop": "hookspan pause", "start": "hookspan resume", "open": "hookspan ui", "web": "hookspan ui", "dashboard": "hookspan ui", "setup": "hookspan install",
	"init": "hookspan install", "remove": "hookspan uninstall for hooks, hookspan delete for traces", "update": "hookspan upgrade --check",
	"private": private, "ignore": private, "watch": "hookspan tail",
}

// badFlag returns the error for a flag that cannot be read.
func badFlag(cmd *cobra.Command, err error) error {
	bad := usageError{errors.New(flagError(err)), cmd}
	if name, _ := strings.CutPrefix(err.Error(), "unknown flag: --"); name == "html" || name == "md" || name == "json" && slices.Contains([]string{"export", "report"}, cmd.Name()) {
		return hinted{bad, "hookspan export and report write such a file: -o NAME." + name}
	}
	if name, unknown := strings.CutPrefix(err.Error(), "unknown flag: --"); unknown {
		if near := nearestFlag(cmd, name); near != "" {
			return usageError{fmt.Errorf("%w: did you mean --%s?", bad, near), cmd}
		}
	}
	return bad
}

// nearestFlag returns the flag that a word may mean, "" if none is like it.
func nearestFlag(cmd *cobra.Command, word string) string {
	return config.Nearest(word, func(yield func(string) bool) { cmd.Flags().VisitAll(func(f *pflag.Flag) { yield(f.Name) }) })
}

// takes limits the number of arguments. An empty one, as of a variable that is not
// set, is none of those that the command would choose by itself.
func takes(most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) > most:
			return wrongUsage(cmd, "%s: unexpected %q: it takes %s", cmd.Name(), args[most], what)
		case slices.Contains(args, ""):
			return wrongUsage(cmd, `%s: found "", want %s`, cmd.Name(), what)
		}
		return nil
	}
}

// ownEmpty are the flags whose empty value has a meaning, or an error that lists the
// values.
var ownEmpty = []string{"after", "before", "by", "dialect", "event", "for", "format", "from", "json", "matcher", "prompt", "result", "scope", "span"}

// emptyFlag refuses an empty value, as of a variable that is not set: a command would
// do as without the flag, for more than was meant. Hidden commands are for programs.
func emptyFlag(cmd *cobra.Command) (err error) {
	if cmd.Hidden {
		return nil
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		empty := strings.TrimSpace(f.Value.String()) == ""
		if list, ok := f.Value.(pflag.SliceValue); ok {
			empty = !slices.ContainsFunc(list.GetSlice(), func(v string) bool { return strings.TrimSpace(v) != "" })
		}
		if empty && !slices.Contains(ownEmpty, f.Name) {
			err = wrongUsage(cmd, "--%s: found nothing, want a value", f.Name)
		}
	})
	return err
}

// group is a command that only has subcommands.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short}
	cmd.AddCommand(commands...)
	return cmd
}

// finish sets what a command and its subcommands leave unset. A command with
// subcommands reports an unknown word, and by itself prints its help; any other takes
// no arguments; shells complete no file names.
func finish(cmd *cobra.Command) {
	if cmd.HasSubCommands() {
		cmd.DisableFlagsInUseLine, cmd.SuggestionsMinimumDistance = true, 2
		cmd.Args = cobra.ArbitraryArgs
		alone := cmd.RunE
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) > 0:
				return unknownCommand(cmd, args[0])
			case alone != nil:
				return alone(cmd, args)
			}
			return cmd.Help()
		}
	} else if cmd.Args == nil {
		cmd.Args = takes(0, "no argument")
	}
	if cmd.ValidArgsFunction == nil && cmd.ValidArgs == nil {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	for _, c := range cmd.Commands() {
		finish(c)
	}
}

// addCompletion adds cobra's commands that print completion scripts.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	completion, _, _ := root.Find([]string{"completion"})
	completion.Short = "Print the completion script for a shell"
	for _, c := range completion.Commands() {
		c.Args = nil // finish reports unexpected words
	}
}

func jsonFlag(cmd *cobra.Command) *bool { return cmd.Flags().Bool("json", false, "print as JSON") }

func dryRunFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("dry-run", false, "show what would be done and do nothing")
}

// oneOf completes the values of a flag.
func oneOf(cmd *cobra.Command, flag string, values ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// flagError rewrites the flag parser's errors about wrong values for people who
// do not know Go.
func flagError(err error) string {
	text := err.Error()
	for tail, want := range map[string]string{
		": strconv.ParseInt: ":   "want a whole number",
		": strconv.ParseBool: ":  "want true or false",
		": time: ":               "want a time such as 30m or 24h",
		": strconv.ParseFloat: ": "want a number",
	} {
		if head, _, ok := strings.Cut(text, tail); ok {
			return head + ": " + want
		}
	}
	return text
}

func helpCmd() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Explain a command", DisableFlagsInUseLine: true, Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return unknownCommand(cmd.Root(), strings.Join(args, " "))
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}
