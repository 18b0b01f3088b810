package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/internal/files/regular"
	"github.com/hookspan/hookspan/internal/install/claude"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/userhooks"
	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
	"github.com/hookspan/hookspan/internal/userhooks/shelltext"
)

func hooksImportCmd(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "claude [FILE...]",
		Short: "Take hooks over from Claude Code's settings",
		Long: `Add the hooks of ~/.claude/settings.json and ~/.claude/hooks.json to your own hooks.json, or with --project
those of the project's .claude/settings.json and settings.local.json to the
project's. Claude Code's files stay as they are. It reports what will not work on
Cline, and leaves out hooks that are there already and those that report to hookspan.
The variables of "env" come with the hooks; their values are not shown.

A project's file must be trusted before it runs: read it, then hookspan hooks trust.`,
		Args: cobra.ArbitraryArgs,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return []cobra.Completion{"json"}, cobra.ShellCompDirectiveFilterFileExt
		},
	}
	f := newEditFlags(c, "take over this project's, into its .cline/hooks.json")
	c.RunE = func(cmd *cobra.Command, args []string) error { return hooksImport(a, cmd, f, args) }
	return group("import AGENT", "Take hooks over from another agent", c)
}

func hooksImport(a *app, cmd *cobra.Command, f editFlags, files []string) error {
	dir, err := projectDir(cmd, false)
	if err != nil {
		return err
	}
	setup := hookSetup(a)
	to, err := openHooksOf(a, dir)
	if err != nil {
		return err
	}
	named := len(files) > 0
	if !named {
		files = setup.ClaudeSettings(dir)
	}
	after, found := to.Data, []hookfile.Handler(nil)
	read := 0
	for _, file := range files {
		data, err := regular.Read(file, regular.Options{Max: hookfile.MaxSize})
		if errors.Is(err, fs.ErrNotExist) && !named {
			continue
		}
		if err != nil {
			return fmt.Errorf("settings %q: %w", file, err)
		}
		read++
		got, err := setup.Import(file, data, after, dir, func(h hookfile.Handler) bool {
			return h.Type == hookfile.TypeCommand && claude.Records(h.Command, h.Args)
		})
		if err != nil {
			return err
		}
		printHooksImport(a, file, got)
		after, found = got.Text, append(found, got.Added...)
	}
	if read == 0 {
		return hinted{
			fmt.Errorf("no settings of Claude Code: %s: not there", strings.Join(files, ": not there; ")),
			"name the file: hookspan hooks import claude FILE",
		}
	}
	if bytes.Equal(after, to.Data) {
		a.printf("nothing to add to %s\n", to.Path)
		return nil
	}
	a.printf("\n")
	if _, err := saveHooks(a, to, after, false, *f.dryRun); err != nil {
		return err
	}
	return hookFiles(cmd.Context(), a, dir, found, f)
}

func printHooksImport(a *app, path string, got *userhooks.Import) {
	a.printf("%s\n", path)
	for _, h := range got.Added {
		a.printf("  add      %s\n", a.whole(shelltext.Describe(h)))
	}
	if got.Kept > 0 {
		a.printf("  keep     %s there already\n", termtext.Plural(got.Kept, "hook"))
	}
	if len(got.Added)+got.Kept == 0 {
		a.printf("  no hook that can run on Cline\n")
	}
	if len(got.Env) > 0 {
		a.printf("  add      env: %s\n", termtext.Value(strings.Join(got.Env, ", ")))
	}
	if len(got.KeptEnv) > 0 {
		a.printf("  keep     env: %s, with another value there\n", termtext.Value(strings.Join(got.KeptEnv, ", ")))
	}
	for _, text := range got.Notes {
		a.printf("  note: %s\n", termtext.Value(text))
	}
}
