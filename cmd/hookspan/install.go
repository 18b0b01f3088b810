package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/agents"
	"github.com/hookspan/hookspan/internal/diagnose"
	"github.com/hookspan/hookspan/internal/install"
	installcline "github.com/hookspan/hookspan/internal/install/cline"
	"github.com/hookspan/hookspan/internal/record"
	"github.com/hookspan/hookspan/internal/termtext"
)

// installCmd makes the command that installs hooks, or with undo the one that
// removes them.
func installCmd(a *app, undo bool) *cobra.Command {
	all := installFoundCmd(a)
	if undo {
		all = uninstallAllCmd(a)
	}
	for _, agent := range a.agents {
		about := agent.Command(undo)
		var o install.Options
		c := &cobra.Command{Use: agent.Word, Short: about.Short, Long: about.Long}
		installFlags(c, &o, about.Flags, agent.Scopes)
		dryRun := dryRunFlag(c)
		yesFlag(c) // for scripts: nothing is asked
		if !undo {
			c.Flags().StringVar(&o.Binary, "binary", "", "the "+agent.Program+" program; the one beside this program if not given")
			_ = c.Flags().MarkHidden("binary")
		}
		c.RunE = func(cmd *cobra.Command, _ []string) (err error) {
			switch {
			case cmd.Flags().Changed("scope") && o.Scope == "":
				return wrongUsage(cmd, "--scope: found nothing, want %s", strings.Join(agent.Scopes, " or "))
			case o.Scope == install.ScopeManaged: // for --managed alone, by which all agents get it
				last := len(agent.Scopes) - 1
				return wrongUsage(cmd, "--scope %q: want %s or %s", o.Scope, strings.Join(agent.Scopes[:last], ", "), agent.Scopes[last])
			}
			if o.Project, err = projectDir(cmd, false); err != nil {
				return err
			}
			o.Dir = workingDir()
			if undo {
				err = uninstallAgent(a, cmd, agent, o, *dryRun)
			} else {
				err = installAgent(a, cmd, agent, o, *dryRun, nil)
			}
			if errors.As(err, new(install.OptionError)) {
				return usageError{err, cmd}
			}
			return err
		}
		all.AddCommand(c)
	}
	return all
}

// installFlags registers the flags that usage explains.
func installFlags(cmd *cobra.Command, o *install.Options, usage map[string]string, scopes []string) {
	words := map[string]*string{"scope": &o.Scope, "project": &o.Project}
	switches := map[string]*bool{"force": &o.Force, "chain": &o.Chain, "pre-tool-use": &o.PreToolUse}
	for name, text := range usage {
		if word, ok := words[name]; ok {
			cmd.Flags().StringVar(word, name, "", text)
		} else {
			cmd.Flags().BoolVar(switches[name], name, false, text)
		}
		cmd.Flags().Lookup(name).Hidden = text == ""
	}
	_ = cmd.MarkFlagDirname("project") // fails without the flag
	oneOf(cmd, "scope", scopes...)
}

// installAgent shows what it would do, warnings included, and does it if ask agrees or is nil.
func installAgent(a *app, cmd *cobra.Command, agent agents.Agent, o install.Options, dryRun bool, ask func() (bool, error)) (err error) {
	copies := o.Binary == ""
	if copies {
		err = machineOf(a).UseCopy(agent.Program, &o)
	} else {
		o.Binary, err = hookProgram(a, agent.Program, o.Binary)
	}
	if err != nil {
		return err
	}
	notes := ""
	if preToolUse := cmd.Flags().Lookup("pre-tool-use"); preToolUse != nil && !preToolUse.Changed {
		inPlace, err := machineOf(a).GuardInPlace(cmd.Context(), o.Project)
		if err != nil {
			return err
		}
		o.ForHooks = hookSetup(a).Guards().Need(o.Project)
		o.PreToolUse = o.ForHooks
		if o.ForHooks && !inPlace {
			notes = "\nYour hooks need PreToolUse (hookspan hooks list), so it is installed for Cline in editors and\nthe CLI 2 too; --pre-tool-use=false leaves it out.\n\n" + editorsRisk + "\n"
		} else if inPlace {
			notes = "\nPreToolUse stays in place for Cline in editors and the CLI 2: your hooks need it\n(hookspan hooks list). --pre-tool-use=false takes it away.\n"
		}
	} else if o.PreToolUse {
		notes = "\n" + installcline.PreToolUseRisk + "\n"
	}
	plan, err := agent.Installer.Plan(cmd.Context(), machineOf(a).System(), o)
	if err != nil {
		return err
	}
	notes += plan.Left(agent.Word, agent.Settings, !o.Chain && cmd.Flags().Lookup("chain") != nil)
	showPlan(a, plan, notes, dryRun)
	if dryRun {
		return nil
	}
	if ask != nil {
		if ok, err := ask(); err != nil || !ok {
			return err
		}
	}
	copied := false
	if err := machineOf(a).Alone(cmd.Context(), func() (err error) {
		if copies {
			if copied, err = machineOf(a).CopyPrograms(cmd.Context()); err == nil {
				err = machineOf(a).StartCopy(cmd.Context(), o.Binary)
			}
		}
		if err == nil {
			err = install.Apply(plan)
		}
		return err
	}); err != nil {
		return err
	}
	switch changed := plan.Changed(); {
	case !changed && copied:
		a.printf("\nthe hook programs are now those of hookspan %s\n", buildVersion())
		return nil
	case !changed:
		a.printf("\neverything is in place already\n")
		return nil
	}
	work := fmt.Sprintf("Work with %s as usual, then", agent.Name)
	if plan.Next != "" {
		work = fmt.Sprintf("Next: %s. Then work as usual, and", plan.Next)
	}
	a.printf("\ninstalled. %s: hookspan list\n", work)
	printRecording(a)
	return nil
}

// uninstallAllCmd makes the command that removes the hooks of every agent. Its
// subcommands remove those of one agent.
func uninstallAllCmd(a *app) *cobra.Command {
	cmd := group("uninstall [AGENT]", "Remove the hooks of coding agents")
	every, dryRun := cmd.Flags().Bool("all", false, "remove the hooks of every agent"), dryRunFlag(cmd)
	managed := cmd.Flags().Bool("managed", false, "remove the hooks from the settings of your organisation (as root)")
	yesFlag(cmd) // for scripts: nothing is asked
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *managed {
			return installManaged(a, cmd, true, *dryRun)
		}
		if !*every {
			const which = "hookspan uninstall AGENT removes the hooks of one agent, hookspan uninstall --all those of every agent"
			if cmd.Flags().NFlag() > 0 {
				return hinted{wrongUsage(cmd, "uninstall: found no agent and no --all"), which}
			}
			defer a.hint(which)
			return cmd.Help()
		}
		var errs []error
		for _, agent := range a.agents {
			if err := uninstallAgent(a, cmd, agent, install.Options{Dir: workingDir()}, *dryRun); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", agent.Name, err))
			}
		}
		return errors.Join(errs...)
	}
	return cmd
}

func uninstallAgent(a *app, cmd *cobra.Command, agent agents.Agent, o install.Options, dryRun bool) error {
	plan, err := agent.Installer.PlanUninstall(cmd.Context(), machineOf(a).System(), o)
	if err != nil {
		return err
	}
	var left error // what stays is named
	if len(plan.Stays) > 0 {
		left = exitError(1)
	}
	if plan.Empty() {
		if left == nil {
			a.printf("%s has no hooks of hookspan's\n", agent.Name)
		}
		for _, w := range slices.Concat(plan.Warnings, plan.Stays) {
			a.warnf("%s", w)
		}
		if dryRun || left != nil {
			return left
		}
		return machineOf(a).Alone(cmd.Context(), func() error { return machineOf(a).RemovePrograms(cmd.Context()) })
	}
	changed := false
	if err := machineOf(a).Alone(cmd.Context(), func() (err error) {
		if changed, err = applyPlan(a, plan, "", dryRun); err == nil && changed {
			err = machineOf(a).RemovePrograms(cmd.Context(), plan.Started...)
		}
		return err
	}); err != nil || !changed {
		return cmp.Or(err, left)
	}
	a.printf("\nuninstalled. The traces so far are in %s\n", a.cfg.StateDir)
	if agent.Host == hook.HostCline {
		left = cmp.Or(warnOfStoppedHooks(cmd.Context(), a), left)
	}
	return left
}

// applyPlan shows a plan with notes and carries it out, unless dryRun. It reports
// whether a hook was changed.
func applyPlan(a *app, plan *install.Plan, notes string, dryRun bool) (changed bool, err error) {
	showPlan(a, plan, notes, dryRun)
	if dryRun {
		return false, nil
	}
	return plan.Changed(), install.Apply(plan)
}

// showPlan shows a plan with notes, and with dryRun the changes of files.
func showPlan(a *app, plan *install.Plan, notes string, dryRun bool) {
	a.printf("%s", plan.Text())
	if dryRun {
		printDiff(a, plan.Diff())
	}
	a.printf("%s", notes)
	if dryRun {
		a.printf("\nnothing was done (--dry-run)\n")
	}
}

// warnOfStoppedHooks reports that Cline no longer runs the user's hooks.
func warnOfStoppedHooks(ctx context.Context, a *app) error {
	own := hookSetup(a).Sources("")
	if len(own.Handlers()) == 0 {
		return nil
	}
	r, err := machineOf(a).Cline(ctx)
	if err != nil {
		return err
	}
	if r.Present() {
		return nil // an edited file stays, and runs them
	}
	hint := "hookspan install cline"
	if own.Guard() {
		hint += " --pre-tool-use"
	}
	a.printf("Your hooks in %s no longer run on Cline.\n", termtext.Value(own[0].Path))
	a.hint(hint + " brings them back")
	return nil
}

// printDiff shows the changed regions of a file, in colour on a terminal.
func printDiff(a *app, text string) {
	if text != "" {
		a.printf("\n")
	}
	for line := range strings.Lines(text) {
		shown := termtext.Screen(strings.TrimRight(line, "\r\n"))
		code := map[byte]string{'+': "32", '-': "31", '@': "36"}[line[0]]
		if code == "" || !a.color() || strings.HasPrefix(line, "---") || strings.HasPrefix(line, "+++") {
			a.printf("%s\n", shown)
		} else { // around printf, which lets no colour through
			_, _ = fmt.Fprintf(a.stdout, "\x1b[%sm%s\x1b[0m\n", code, shown)
		}
	}
}

// printRecording says what keeps installed hooks from recording.
func printRecording(a *app) {
	switch {
	case diagnose.Paused(a.cfg):
		a.printf("Recording is paused: hookspan resume continues it.\n")
	case a.cfg.Off():
		a.printf("Recording is switched off by HOOKSPAN_DISABLED or OTEL_SDK_DISABLED.\n")
	}
}

// hookProgram is the program that an agent's hooks will start: the one of that
// name beside this program, if no path is given.
func hookProgram(a *app, program, path string) (string, error) {
	name := program
	if a.goos == "windows" {
		name += ".exe"
	}
	var err error
	if path == "" {
		path, err = record.Sibling(name)
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
