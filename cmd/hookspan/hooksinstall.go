package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/install/cline"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/userhooks"
	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
	"github.com/hookspan/hookspan/internal/userhooks/shelltext"
)

// editorsRisk is what the user must know of a hook that runs before tool calls.
const editorsRisk = `A hook on PreToolUse needs Cline's PreToolUse hook file. In Cline's classic core that
has a risk. VS Code: a call that a hook denies stops the task and leaves Cline stuck:
New Task and Resume do nothing until the window is reloaded. CLI 2: a task stops dead
when a later tool reads a missing file, whatever any hook answers; in VS Code that was
not seen. To take the hook file back: hookspan install cline --pre-tool-use=false.
The CLI 3 has neither fault.`

// hookFiles installs the hook files that Cline needs for the user's new hooks,
// unless --no-install is given, and reports what keeps hooks from running.
func hookFiles(ctx context.Context, a *app, project string, added []hookfile.Handler, f editFlags) error {
	err := installHookFiles(ctx, a, project, added, f)
	switch {
	case err != nil && !*f.dryRun:
		return fmt.Errorf("hooks.json is as it should be, but Cline's hook files are not: %w", err)
	case err != nil:
		return err
	}
	if !a.cfg.Hooks {
		a.printf("Hooks of your own are switched off by HOOKSPAN_HOOKS.\n")
	}
	if !*f.dryRun {
		a.hint("hookspan hooks test tries it without Cline")
	}
	return nil
}

// installHookFiles shows and installs the hook files that are missing.
func installHookFiles(ctx context.Context, a *app, project string, added []hookfile.Handler, f editFlags) error {
	report, err := machineOf(a).Cline(ctx)
	if err != nil {
		return err
	}
	guard, hosts := userhooks.HasGuard(added), cline.HostsOf(report, project)
	if hosts.Any() && (hosts.Guard() || !guard) {
		return nil
	}
	if *f.noInstall {
		what, command := "Cline has no hookspan hook file, so none of your hooks runs.", "hookspan install cline"
		if hosts.Any() {
			what = "Cline in editors and the CLI 2 have no PreToolUse hook file from hookspan: none of your hooks runs there before tool calls."
		}
		if guard {
			command += " --pre-tool-use"
		}
		a.printf("\n%s\n", what)
		a.hint(command)
		return nil
	}
	o := install.Options{PreToolUse: guard || hosts.Guard(), ForHooks: guard}
	if err := machineOf(a).UseCopy(hook.ProgramCline, &o); err != nil {
		return err
	}
	if project != "" && report.InProject(project) && !report.InProject("") {
		// Only this project reports to hookspan, and that must not change.
		o.Project = project
	}
	plan, err := cline.Installer{}.Plan(ctx, machineOf(a).System(), o)
	if err != nil {
		return err
	}
	a.printf("\n")
	with := ""
	if guard {
		a.printf("%s\n\n", editorsRisk)
		with = "; with --pre-tool-use for this hook"
	}
	notes := ""
	concerned := func(x install.Action) bool { return !guard || x.Event == "PreToolUse" }
	if slices.ContainsFunc(plan.Foreign(), concerned) {
		notes += "\nOne of your hook files is in the way there: your new hook does not run through it.\n"
		a.hint("hookspan install cline --chain runs both" + with)
	}
	if slices.ContainsFunc(plan.Edited(), concerned) {
		notes += "\nA hookspan hook file there was edited, so it is left as found.\n"
		a.hint("hookspan install cline --force writes it anew" + with)
	}
	changed := false
	if err := machineOf(a).Alone(ctx, func() (err error) {
		if !*f.dryRun {
			_, err = machineOf(a).CopyPrograms(ctx)
		}
		if err == nil {
			changed, err = applyPlan(a, plan, notes, *f.dryRun)
		}
		return err
	}); err != nil || !changed {
		return err
	}
	a.printf("\nCline's hook files are installed.\n")
	printRecording(a)
	return nil
}

// releaseHookFiles removes the PreToolUse hook files that were installed for the
// user's hooks and that none of them needs any more. With leave it only reports
// them.
func releaseHookFiles(ctx context.Context, a *app, leave bool) error {
	projects, err := cline.ForHooks(machineOf(a).System())
	if err != nil || len(projects) == 0 {
		return err
	}
	guards := hookSetup(a).Guards()
	for _, project := range projects {
		if guards.Need(project) {
			continue
		}
		if leave {
			a.printf("\nNone of your hooks runs before tool calls any more; Cline's PreToolUse hook file stays (--no-install).\n")
			a.hint("hookspan install cline --pre-tool-use=false takes it away" + map[bool]string{true: "; with --project " + shelltext.PromptWord(a.goos, project)}[project != ""])
			continue
		}
		if err := releaseFrom(ctx, a, project); err != nil {
			return fmt.Errorf("hooks.json is as it should be, but Cline's PreToolUse hook file is still there: %w", err)
		}
	}
	return nil
}

// releaseFrom removes PreToolUse from the folders of a project, or with an empty
// name from the user's.
func releaseFrom(ctx context.Context, a *app, project string) error {
	o := install.Options{Project: project}
	if err := machineOf(a).UseCopy(hook.ProgramCline, &o); err != nil {
		return err
	}
	plan, err := cline.Installer{}.PlanWithoutHooks(ctx, machineOf(a).System(), o)
	if err != nil {
		return err
	}
	if !plan.Changed() {
		for _, x := range slices.Concat(plan.Foreign(), plan.Edited()) {
			a.printf("\nNone of your hooks runs before tool calls any more, but %s stays: it %s\n", termtext.Value(x.Path), termtext.Value(x.Reason))
		}
		return nil
	}
	a.printf("\nNone of your hooks runs before tool calls any more, so the PreToolUse hook file that was\ninstalled for that goes.\n\n%s", plan.Text())
	return machineOf(a).Alone(ctx, func() error {
		if _, err := machineOf(a).CopyPrograms(ctx); err != nil {
			return err
		}
		return install.Apply(plan)
	})
}
