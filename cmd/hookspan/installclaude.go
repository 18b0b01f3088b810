package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/install/claude"
	"github.com/hookspan/hookspan/internal/termtext"
)

// claudeFlags are the flags of install claude and uninstall claude.
type claudeFlags struct {
	dryRun, force          bool
	scope, project, binary string
}

func (f *claudeFlags) register(c *cobra.Command, scope, project string) {
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "show what would be done and do nothing")
	c.Flags().StringVar(&f.scope, "scope", "", scope)
	c.Flags().StringVar(&f.project, "project", "", project)
	_ = c.MarkFlagDirname("project")
	_ = c.RegisterFlagCompletionFunc("scope", cobra.FixedCompletions(
		[]cobra.Completion{claude.ScopeUser, claude.ScopeProject, claude.ScopeLocal},
		cobra.ShellCompDirectiveNoFileComp))
}

// options checks the flags against one another before anything is touched.
func (f *claudeFlags) options(cmd *cobra.Command) (install.Options, error) {
	o := install.Options{Scope: f.scope, Force: f.force}
	named := cmd.Flags().Changed("project")
	switch o.Scope {
	case "":
		if cmd.Flags().Changed("scope") {
			return o, wrongUsage(cmd, "--scope: found nothing, want user, project or local")
		}
	case claude.ScopeUser:
		if named {
			return o, wrongUsage(cmd, "--project: the user's settings belong to no project: --scope project or --scope local goes with it")
		}
	case claude.ScopeProject, claude.ScopeLocal:
	default:
		return o, wrongUsage(cmd, "--scope %q: want user, project or local", f.scope)
	}
	var err error
	if o.Project = f.project; !named {
		o.Project, err = os.Getwd()
	} else if f.project == "" {
		return o, wrongUsage(cmd, "--project: want the project's folder")
	} else {
		o.Project, err = filepath.Abs(f.project)
	}
	if err != nil {
		return o, fmt.Errorf("project folder: %w", err)
	}
	return o, mustBeFolder(cmd, f.project, o.Project)
}

func (a *app) installClaudeCmd() *cobra.Command {
	var f claudeFlags
	c := &cobra.Command{
		Use:   "claude",
		Short: "Let Claude Code report to hookspan",
		Long: `Add hookspan's hooks to Claude Code's settings; --dry-run shows the lines. Your own
hooks, all other settings and the layout of the file stay as they are; the file as it
was is kept beside it. hookspan uninstall claude takes the hooks out again, to the byte.

  --scope user      ~/.claude/settings.json, for all your projects (the default)
  --scope project   .claude/settings.json in the project, which others may share
  --scope local     .claude/settings.local.json in the project, for you alone`,
		Args: takes(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.installClaude(cmd, f) },
	}
	f.register(c, "whose settings: user, project or local",
		"the project's folder, for --scope project (which it implies) and local; this folder if not given")
	c.Flags().BoolVar(&f.force, "force", false, "rewrite entries of hookspan's that were edited")
	c.Flags().StringVar(&f.binary, "binary", "", "the claude-hook program; the one beside this program if not given")
	_ = c.Flags().MarkHidden("binary")
	return c
}

func (a *app) installClaude(cmd *cobra.Command, f claudeFlags) error {
	o, err := f.options(cmd)
	if err != nil {
		return err
	}
	if o.Scope == "" {
		o.Scope = claude.ScopeUser
		if cmd.Flags().Changed("project") {
			o.Scope = claude.ScopeProject
		}
	}
	if o.Scope == claude.ScopeUser {
		o.Project = ""
	}
	if o.Binary, err = a.hookProgram("claude-hook", f.binary); err != nil {
		return err
	}
	plan, err := claude.Installer{}.Plan(cmd.Context(), a.system(), o)
	if err != nil {
		return err
	}
	a.printf("%s", plan.Text())
	if f.dryRun {
		a.printDiff(plan.Diff())
	}
	if n := len(plan.Edited()); n > 0 {
		a.printf("\n%s of hookspan's edited since: left as found. --force writes them anew.\n", termtext.Plural(n, "hook"))
	}
	if f.dryRun {
		a.printf("\nnothing was done (--dry-run)\n")
		return nil
	}
	if err := install.Apply(plan); err != nil {
		return err
	}
	if !plan.Changed() {
		a.printf("\neverything is in place already\n")
		return nil
	}
	a.printf("\ninstalled. Work with Claude Code as usual, then: hookspan list\n")
	a.printRecording()
	return nil
}

func (a *app) uninstallClaudeCmd() *cobra.Command {
	var f claudeFlags
	c := &cobra.Command{
		Use:   "claude",
		Short: "Take hookspan's hooks out of Claude Code's settings",
		Long: `Take out exactly what hookspan install claude put in, from wherever it did, and leave
everything else. --scope and --project limit it. Traces and settings stay.`,
		Args: takes(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := f.options(cmd)
			if err != nil {
				return err
			}
			o.OnlyProject = o.Scope == "" && cmd.Flags().Changed("project")
			return a.uninstallClaude(cmd.Context(), o, f.dryRun)
		},
	}
	f.register(c, "only these settings: user, project or local",
		"only this project's settings; for --scope project and local, this folder if not given")
	// An edited entry is hookspan's all the same; other agents' files are not.
	c.Flags().BoolVar(&f.force, "force", false, "accepted as for other agents; edited entries go anyway")
	_ = c.Flags().MarkHidden("force")
	return c
}

func (a *app) uninstallClaude(ctx context.Context, o install.Options, dryRun bool) error {
	plan, err := claude.Installer{}.PlanUninstall(ctx, a.system(), o)
	if err != nil {
		return err
	}
	if plan.Empty() {
		a.printf("no hooks of hookspan's are installed\n")
		return nil
	}
	a.printf("%s", plan.Text())
	if dryRun {
		a.printDiff(plan.Diff())
		a.printf("\nnothing was done (--dry-run)\n")
		return nil
	}
	if err := install.Apply(plan); err != nil {
		return err
	}
	if plan.Changed() {
		a.printf("\nuninstalled. The traces so far are in %s\n", a.cfg.StateDir)
	}
	return nil
}

// printDiff shows the changed regions of a file, in colour on a terminal.
func (a *app) printDiff(text string) {
	if text == "" {
		return
	}
	a.printf("\n")
	color := a.color()
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		shown := termtext.Screen(line)
		code := ""
		switch {
		case !color || strings.HasPrefix(line, "---") || strings.HasPrefix(line, "+++"):
		case strings.HasPrefix(line, "+"):
			code = "32"
		case strings.HasPrefix(line, "-"):
			code = "31"
		case strings.HasPrefix(line, "@@"):
			code = "36"
		}
		if code == "" {
			a.printf("%s\n", shown)
			continue
		}
		// Around printf, which lets no colour through.
		_, _ = fmt.Fprintf(a.stdout, "\x1b[%sm%s\x1b[0m\n", code, shown)
	}
}

// claudeHooks looks at the hooks in Claude Code's settings.
func (a *app) claudeHooks(ctx context.Context) (*install.Report, error) {
	binary, err := a.hookProgram("claude-hook", "")
	var h hinted
	if err != nil && !errors.As(err, &h) {
		return nil, err
	}
	// Without a folder to be in there is no project to look at.
	project, _ := os.Getwd()
	if info, err := os.Stat(project); err != nil || !info.IsDir() {
		project = ""
	}
	return claude.Installer{}.Status(ctx, a.system(), install.Options{Binary: binary, Project: project})
}
