package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/internal/hookproc"
	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/install/cline"
	"github.com/hookspan/hookspan/internal/termtext"
)

// preToolUseRisk is what the user must know before PreToolUse goes where
// classic Cline reads it.
const preToolUseRisk = `The PreToolUse hook goes into ~/.cline/hooks alone by default. Where Cline's classic
core reads it, it has a price. CLI 2: a task stops dead when a later tool reads a
missing file, whatever the hook answers; in VS Code that was not seen. VS Code: a call
that a hook denies leaves Cline stuck until the window is reloaded. Without it a tool's
span begins at its end less the duration that Cline reports, which includes the time
you took to approve it, and a call that never returns has no span.`

func (a *app) system() install.System {
	return install.System{
		GOOS: a.goos, Home: a.home, Getenv: a.getenv, StateDir: a.cfg.StateDir,
	}
}

type installFlags struct {
	dryRun, preToolUse, chain, force bool
	project                          string
	binary                           string
}

func (a *app) installCmd() *cobra.Command {
	var f installFlags
	c := &cobra.Command{
		Use:   "cline",
		Short: "Let Cline report to hookspan",
		Long: `Write hookspan's hook files into the folders from which Cline reads hooks on this
system. A file that is not hookspan's is never touched; --chain has hookspan run it
as well. hookspan uninstall cline undoes all of it.

` + preToolUseRisk,
		Args: takes(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.install(cmd, f) },
	}
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "show what would be done and do nothing")
	c.Flags().BoolVar(&f.preToolUse, "pre-tool-use", false, "install PreToolUse for classic Cline too (see above for the risk); where hooks of your own need it, it stays until --pre-tool-use=false")
	c.Flags().BoolVar(&f.chain, "chain", false, "where a hook of yours is in the way, run it too and merge both answers")
	c.Flags().BoolVar(&f.force, "force", false, "rewrite hook files of hookspan's that were edited")
	c.Flags().StringVar(&f.project, "project", "", "install into this project's .clinerules/hooks in place of your own folders")
	c.Flags().StringVar(&f.binary, "binary", "", "the cline-hook program; the one beside this program if not given")
	_ = c.Flags().MarkHidden("binary")
	_ = c.MarkFlagDirname("project")
	return group("install AGENT", "Install the hooks of a coding agent", c, a.installClaudeCmd())
}

func (a *app) install(cmd *cobra.Command, f installFlags) error {
	binary, err := a.hookBinary(f.binary)
	if err != nil {
		return err
	}
	o := install.Options{Binary: binary, PreToolUse: f.preToolUse, Chain: f.chain, Force: f.force}
	if cmd.Flags().Changed("project") {
		if f.project == "" {
			return wrongUsage(cmd, "--project: want the project's folder")
		}
		if o.Project, err = filepath.Abs(f.project); err != nil {
			return fmt.Errorf("--project %q: %w", f.project, err)
		}
		if err := mustBeFolder(cmd, f.project, o.Project); err != nil {
			return err
		}
	}
	needed := false
	if !cmd.Flags().Changed("pre-tool-use") {
		if needed, err = a.guardInPlace(cmd.Context(), o.Project); err != nil {
			return err
		}
		o.PreToolUse, o.ForHooks = needed, needed
	}
	plan, err := cline.Installer{}.Plan(cmd.Context(), a.system(), o)
	if err != nil {
		return err
	}
	a.printf("%s", plan.Text())
	if needed {
		a.printf("\nPreToolUse stays in place for Cline in editors and the CLI 2: hooks of yours need it\n(hookspan hooks list). --pre-tool-use=false takes it away.\n")
	}
	if f.preToolUse {
		a.printf("\n%s\n", preToolUseRisk)
	}
	foreign := len(plan.Foreign())
	if foreign > 0 && !f.chain {
		a.printf("\n%s of yours in the way: left as found, so these events are not recorded there.\n"+
			"hookspan install cline --chain runs yours as well and merges both answers.\n", termtext.Plural(foreign, "hook"))
	}
	if n := len(plan.Edited()); n > 0 {
		were, them := "was", "it"
		if n > 1 {
			were, them = "were", "them"
		}
		a.printf("\n%s of hookspan's %s edited: left as found.\nhookspan install cline --force writes %s anew.\n", termtext.Plural(n, "hook file"), were, them)
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
	a.printf("\ninstalled. Work with Cline as usual, then: hookspan list\n")
	a.printRecording()
	return nil
}

// mustBeFolder refuses a --project that is no folder: installing would make it.
func mustBeFolder(cmd *cobra.Command, given, path string) error {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return wrongUsage(cmd, "--project %q: not a folder: want the folder of a project that exists", given)
	}
	return nil
}

// printRecording says what keeps installed hooks from recording.
func (a *app) printRecording() {
	switch {
	case a.paused():
		a.printf("Recording is paused: hookspan resume continues it.\n")
	case a.cfg.Off():
		a.printf("Recording is switched off by HOOKSPAN_DISABLED or OTEL_SDK_DISABLED.\n")
	}
}

// hookBinary is the program that Cline's hook files will start.
func (a *app) hookBinary(path string) (string, error) { return a.hookProgram("cline-hook", path) }

// hookProgram is the program that an agent's hooks will start: the one of that
// name beside this program, if no path is given.
func (a *app) hookProgram(program, path string) (string, error) {
	name := program
	if a.goos == "windows" {
		name += ".exe"
	}
	var err error
	if path == "" {
		path, err = hookproc.Sibling(name)
	} else {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err != nil {
		return "", hinted{
			fmt.Errorf("the hook program %s is not there", path),
			fmt.Sprintf("hookspan and %s belong in one folder: build both with `make build`, or go install both", program),
		}
	}
	return path, nil
}

func (a *app) uninstallCmd() *cobra.Command {
	var dryRun, force bool
	c := &cobra.Command{
		Use:   "cline",
		Short: "Remove hookspan's hooks from Cline and put chained ones back",
		Long: `Remove exactly what hookspan install cline wrote, put chained hooks back as they
were, and leave everything else. Traces and settings stay.`,
		Args: takes(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			plan, err := cline.Installer{}.PlanUninstall(cmd.Context(), a.system(), install.Options{Force: force})
			if err != nil {
				return err
			}
			if plan.Empty() {
				a.printf("no hooks of hookspan's are installed\n")
				return nil
			}
			a.printf("%s", plan.Text())
			if dryRun {
				a.printf("\nnothing was done (--dry-run)\n")
				return nil
			}
			if err := install.Apply(plan); err != nil {
				return err
			}
			if !plan.Changed() {
				return nil
			}
			a.printf("\nuninstalled. The traces so far are in %s\n", a.cfg.StateDir)
			return a.warnOfUnheard(cmd.Context())
		},
	}
	c.Flags().BoolVar(&dryRun, "dry-run", false, "show what would be done and do nothing")
	c.Flags().BoolVar(&force, "force", false, "remove hook files of hookspan's that were edited, too")
	return group("uninstall AGENT", "Remove the hooks of a coding agent", c, a.uninstallClaudeCmd())
}

// warnOfUnheard says that the user's hooks for Cline run no longer, guards among
// them.
func (a *app) warnOfUnheard(ctx context.Context) error {
	own := a.hookSources("")
	if len(own.Handlers()) == 0 {
		return nil
	}
	r, err := a.hooks(ctx)
	if err != nil {
		return err
	}
	if r.Present() {
		return nil // an edited file stays, and runs them
	}
	hint := "hookspan install cline"
	if trustedGuards(own) {
		hint += " --pre-tool-use"
	}
	a.printf("Your hooks in %s no longer run on Cline.\n", termtext.Value(own[0].Path))
	a.hint(hint + " brings them back")
	return nil
}

// hooks looks at the installed hooks.
func (a *app) hooks(ctx context.Context) (*install.Report, error) {
	binary, err := a.hookBinary("")
	var h hinted
	if err != nil && !errors.As(err, &h) {
		return nil, err
	}
	return cline.Installer{}.Status(ctx, a.system(), install.Options{Binary: binary})
}
