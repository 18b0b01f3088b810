package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/internal/install/cline"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/ui/hooks"
	"github.com/hookspan/hookspan/internal/userhooks"
	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
	"github.com/hookspan/hookspan/internal/userhooks/shelltext"
)

func hooksTrustCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trust [FILE|FOLDER]",
		Short: "Let a project's hooks run",
		Long: `Show everything that a project's .cline/hooks.json runs and sets, secrets marked and
characters that cannot be seen by their number, and ask whether it may run: this file,
with this content. A changed file must be trusted
again. Without an argument it is the project of the working directory. The programs
that the file starts can change without notice: trust only projects whose authors you
trust. Without a terminal to ask on, use --yes.`,
		Args:              takes(1, "one file or folder"),
		ValidArgsFunction: folderCompletion,
	}
	list := cmd.Flags().Bool("list", false, "list the files that are trusted")
	asJSON := cmd.Flags().Bool("json", false, "print the list as JSON")
	yes := cmd.Flags().Bool("yes", false, "trust without asking")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case *list && len(args) > 0:
			return wrongUsage(cmd, "--list: takes no file")
		case *asJSON && !*list:
			return wrongUsage(cmd, "--json: goes with --list")
		case *list && *yes:
			return wrongUsage(cmd, "--yes: does not go with --list")
		case *list:
			return listTrusted(a, *asJSON)
		}
		return trustHookFile(a, cmd, args, *yes)
	}
	return cmd
}

func hooksUntrustCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "untrust [FILE|FOLDER]",
		Short: "Stop a project's hooks from running",
		Args:  takes(1, "one file or folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := projectHooks(a, cmd, args)
			if err != nil {
				return err
			}
			was, err := hookSetup(a).Trust.Remove(path)
			if err != nil {
				return err
			}
			if !was {
				a.printf("%s was not trusted\n", path)
				return nil
			}
			a.printf("%s is no longer trusted: its hooks do not run\n", path)
			return releaseHookFiles(cmd.Context(), a, false)
		},
		ValidArgsFunction: folderCompletion,
	}
}

func folderCompletion(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// projectHooks is the hooks.json of a project, named by its path or its folder's.
func projectHooks(a *app, cmd *cobra.Command, args []string) (string, error) {
	path, err := hookSetup(a).ProjectFile(append(args, ".")[0])
	if err != nil {
		return "", usageError{err, cmd}
	}
	return path, nil
}

// trustHookFile trusts the bytes that it has shown, and no others.
func trustHookFile(a *app, cmd *cobra.Command, args []string, yes bool) error {
	path, err := projectHooks(a, cmd, args)
	if err != nil {
		return err
	}
	if err := hookfile.CheckOwner(path); err != nil {
		return err
	}
	f, err := openHooks(path, true)
	if err != nil {
		return err
	}
	if !f.Exists {
		return hinted{
			fmt.Errorf("%s: there is no such file", path),
			"hookspan hooks add --project FOLDER makes one",
		}
	}
	if _, err := hookfile.Parse(path, f.Data); err != nil {
		return hinted{err, "nothing was trusted: fix the file first"}
	}
	a.printf("%s\n", a.whole(path))
	setup := hookSetup(a)
	a.hooksText().File(f.File, setup.Check(f.File, hookfile.ProjectOf(path), setup.Sources("")))
	if hookSetup(a).Trust.Trusted(path, f.Data) {
		a.printf("trusted already\n")
		return nil
	}
	if err := consent(cmd.Context(), a, path, yes); err != nil {
		return err
	}
	if err := hookSetup(a).Trust.Add(path, f.Data); err != nil {
		return err
	}
	report, err := machineOf(a).Cline(cmd.Context())
	if err != nil {
		return err
	}
	counts, events := hooks.RunsText(f.File), hookfile.EventsOf(f.File.Handlers)
	if !cline.HostsOf(report, hookfile.ProjectOf(path)).Everywhere(events) {
		counts = "this content counts"
	}
	a.printf("trusted: %s when you work in %s\n", counts, termtext.Value(hookfile.ProjectOf(path)))
	if !a.cfg.Hooks {
		a.printf("Hooks of your own are switched off by HOOKSPAN_HOOKS.\n")
	}
	return printHosts(cmd.Context(), a, hookfile.ProjectOf(path), f.File.Handlers)
}

// printHosts says in which of Cline's programs hooks run.
func printHosts(ctx context.Context, a *app, project string, handlers []hookfile.Handler) error {
	report, err := machineOf(a).Cline(ctx)
	if err != nil || len(handlers) == 0 {
		return err
	}
	hosts := cline.HostsOf(report, project)
	for _, line := range hosts.Summary(hookfile.EventsOf(handlers)) {
		a.printf("%s\n", line)
	}
	if _, missing := hosts.Of("PreToolUse"); userhooks.HasGuard(handlers) && len(missing) > 0 || !hosts.Any() {
		a.printf("'hookspan install cline' installs what they need; with --dry-run it only shows that\n")
	}
	return nil
}

// consent asks whether what was shown may run. Without a terminal it fails, unless
// yes is set.
func consent(ctx context.Context, a *app, path string, yes bool) error {
	if yes {
		return nil
	}
	if !canAsk(a) {
		return hinted{
			errors.New("nothing was trusted: there is no terminal to ask on"),
			"read what it runs, then: hookspan hooks trust --yes " + shelltext.PromptWord(a.goos, hookfile.ProjectOf(path)),
		}
	}
	ok, err := confirm(ctx, a, "Let this run when you work in "+hookfile.ProjectOf(path)+"?")
	if err == nil && !ok {
		err = errors.New("nothing was trusted")
	}
	return err
}

type trustedFile struct {
	Path string `json:"path"`
	// Standing is "trusted", "changed" or "missing".
	Standing string `json:"standing"`
}

func listTrusted(a *app, asJSON bool) error {
	out := []trustedFile{}
	for _, f := range hookSetup(a).Trust.List() {
		out = append(out, trustedFile{f.Path, hookSetup(a).Trust.State(f)})
	}
	return a.result(asJSON, out, true, func() {
		if len(out) == 0 {
			a.printf("no project's hooks are trusted\n")
		}
		for _, f := range out {
			a.printf("%-8s %s\n", f.Standing, termtext.Value(f.Path))
		}
	})
}

// whole is one line of a text over which the user decides.
func (a *app) whole(text string) string { return hookfile.WholeLine(text, a.clean) }
