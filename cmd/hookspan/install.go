package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/internal/agents"
	"github.com/hookspan/hookspan/internal/diagnose"
	"github.com/hookspan/hookspan/internal/hookproc"
	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/install/claude"
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

// installFlags are the flags of install and uninstall for all agents.
type installFlags struct {
	dryRun, force     bool
	preToolUse, chain bool
	scope, binary     string
	project           projectFlag
}

// agentInstall is an agent with what only its install and uninstall have.
type agentInstall struct {
	agents.Agent
	long, undoShort, undoLong string
	// flags registers the agent's flags; undo is for uninstall.
	flags func(c *cobra.Command, f *installFlags, undo bool)
	// options are what the agent's flags ask for.
	options func(cmd *cobra.Command, f *installFlags, undo bool) (install.Options, error)
	// notes is what the user should read beside the plan. It may be nil.
	notes func(o install.Options, f *installFlags) string
	// uninstalled is called after an uninstall that changed hooks. It may be nil.
	uninstalled func(context.Context) error
}

// installs are the agents that hooks can be installed for.
func (a *app) installs() []agentInstall {
	special := map[string]agentInstall{
		"cline": {
			long: `Write hookspan's hook files into the folders from which Cline reads hooks on this
system. A file that is not hookspan's is never touched; --chain has hookspan run it
as well. hookspan uninstall cline undoes all of it.

` + preToolUseRisk,
			undoShort: "Remove hookspan's hooks from Cline and put chained ones back",
			undoLong: `Remove exactly what hookspan install cline wrote, put chained hooks back as they
were, and leave everything else. Traces and settings stay.`,
			flags: clineFlags, options: a.clineOptions, notes: clineNotes, uninstalled: a.warnOfStoppedHooks,
		},
		"claude": {
			long: `Add hookspan's hooks to Claude Code's settings; --dry-run shows the lines. Your own
hooks, all other settings and the layout of the file stay as they are; the file as it
was is kept beside it. hookspan uninstall claude takes the hooks out again, to the byte.

  --scope user      ~/.claude/settings.json, for all your projects (the default)
  --scope project   .claude/settings.json in the project, which others may share
  --scope local     .claude/settings.local.json in the project, for you alone`,
			undoShort: "Take hookspan's hooks out of Claude Code's settings",
			undoLong: `Take out exactly what hookspan install claude put in, from wherever it did, and leave
everything else. --scope and --project limit it. Traces and settings stay.`,
			flags: claudeFlags, options: claudeOptions,
		},
	}
	var out []agentInstall
	for _, agent := range a.agents {
		in, ok := special[agent.Word]
		if !ok {
			in.undoShort, in.flags, in.options = "Remove hookspan's hooks from "+agent.Name, forceFlag, forceOption
		}
		in.Agent = agent
		out = append(out, in)
	}
	return out
}

func (a *app) installCmd() *cobra.Command {
	all := group("install AGENT", "Install the hooks of a coding agent")
	for _, agent := range a.installs() {
		var f installFlags
		c := &cobra.Command{
			Use: agent.Word, Short: "Let " + agent.Name + " report to hookspan", Long: agent.long,
			Args: takes(0, "no argument"),
			RunE: func(cmd *cobra.Command, _ []string) error { return a.install(cmd, agent, &f) },
		}
		agent.flags(c, &f, false)
		c.Flags().BoolVar(&f.dryRun, "dry-run", false, "show what would be done and do nothing")
		c.Flags().StringVar(&f.binary, "binary", "", "the "+agent.Program+" program; the one beside this program if not given")
		_ = c.Flags().MarkHidden("binary")
		all.AddCommand(c)
	}
	return all
}

func (a *app) uninstallCmd() *cobra.Command {
	all := group("uninstall AGENT", "Remove the hooks of a coding agent")
	for _, agent := range a.installs() {
		var f installFlags
		c := &cobra.Command{
			Use: agent.Word, Short: agent.undoShort, Long: agent.undoLong,
			Args: takes(0, "no argument"),
			RunE: func(cmd *cobra.Command, _ []string) error { return a.uninstall(cmd, agent, &f) },
		}
		agent.flags(c, &f, true)
		c.Flags().BoolVar(&f.dryRun, "dry-run", false, "show what would be done and do nothing")
		all.AddCommand(c)
	}
	return all
}

func (a *app) install(cmd *cobra.Command, agent agentInstall, f *installFlags) error {
	o, err := agent.options(cmd, f, false)
	if err != nil {
		return err
	}
	if o.Binary, err = a.hookProgram(agent.Program, f.binary); err != nil {
		return err
	}
	plan, err := agent.Installer.Plan(cmd.Context(), a.system(), o)
	if err != nil {
		return err
	}
	var notes string
	if agent.notes != nil {
		notes = agent.notes(o, f)
	}
	if n := len(plan.Foreign()); n > 0 && !f.chain {
		notes += fmt.Sprintf("\n%s of yours in the way: left as found, so these events are not recorded there.\n"+
			"hookspan install %s --chain runs yours as well and merges both answers.\n", termtext.Plural(n, "hook"), agent.Word)
	}
	if n := len(plan.Edited()); n > 0 {
		thing := "hook file"
		if agent.Settings {
			thing = "hook"
		}
		were, them := "was", "it"
		if n > 1 {
			were, them = "were", "them"
		}
		notes += fmt.Sprintf("\n%s of hookspan's %s edited: left as found.\nhookspan install %s --force writes %s anew.\n",
			termtext.Plural(n, thing), were, agent.Word, them)
	}
	changed, err := a.apply(plan, notes, f.dryRun)
	switch {
	case err != nil || f.dryRun:
		return err
	case !changed:
		a.printf("\neverything is in place already\n")
		return nil
	}
	a.printf("\ninstalled. Work with %s as usual, then: hookspan list\n", agent.Name)
	a.printRecording()
	return nil
}

func (a *app) uninstall(cmd *cobra.Command, agent agentInstall, f *installFlags) error {
	o, err := agent.options(cmd, f, true)
	if err != nil {
		return err
	}
	plan, err := agent.Installer.PlanUninstall(cmd.Context(), a.system(), o)
	if err != nil {
		return err
	}
	if plan.Empty() {
		a.printf("no hooks of hookspan's are installed\n")
		return nil
	}
	if changed, err := a.apply(plan, "", f.dryRun); err != nil || !changed {
		return err
	}
	a.printf("\nuninstalled. The traces so far are in %s\n", a.cfg.StateDir)
	if agent.uninstalled == nil {
		return nil
	}
	return agent.uninstalled(cmd.Context())
}

// apply shows a plan with notes and carries it out, unless dryRun. It reports
// whether a hook was changed.
func (a *app) apply(plan *install.Plan, notes string, dryRun bool) (changed bool, err error) {
	a.printf("%s", plan.Text())
	if dryRun {
		a.printDiff(plan.Diff())
	}
	a.printf("%s", notes)
	if dryRun {
		a.printf("\nnothing was done (--dry-run)\n")
		return false, nil
	}
	return plan.Changed(), install.Apply(plan)
}

// forceFlag and forceOption are for an agent without special flags.
func forceFlag(c *cobra.Command, f *installFlags, undo bool) {
	usage := "rewrite hooks of hookspan's that were edited"
	if undo {
		usage = "remove hooks of hookspan's that were edited, too"
	}
	c.Flags().BoolVar(&f.force, "force", false, usage)
}

func forceOption(_ *cobra.Command, f *installFlags, _ bool) (install.Options, error) {
	return install.Options{Force: f.force}, nil
}

func clineFlags(c *cobra.Command, f *installFlags, undo bool) {
	if undo {
		c.Flags().BoolVar(&f.force, "force", false, "remove hook files of hookspan's that were edited, too")
		return
	}
	c.Flags().BoolVar(&f.force, "force", false, "rewrite hook files of hookspan's that were edited")
	c.Flags().BoolVar(&f.preToolUse, "pre-tool-use", false, "install PreToolUse for classic Cline too (see above for the risk); where hooks of your own need it, it stays until --pre-tool-use=false")
	c.Flags().BoolVar(&f.chain, "chain", false, "where a hook of yours is in the way, run it too and merge both answers")
	f.project.register(c, "install into this project's .clinerules/hooks in place of your own folders")
}

func (a *app) clineOptions(cmd *cobra.Command, f *installFlags, undo bool) (install.Options, error) {
	o := install.Options{PreToolUse: f.preToolUse, Chain: f.chain, Force: f.force}
	if undo {
		return o, nil
	}
	var err error
	if o.Project, err = f.project.folder(cmd, false); err != nil || cmd.Flags().Changed("pre-tool-use") {
		return o, err
	}
	o.ForHooks, err = a.guardInPlace(cmd.Context(), o.Project)
	o.PreToolUse = o.ForHooks
	return o, err
}

func clineNotes(o install.Options, f *installFlags) string {
	switch {
	case o.ForHooks:
		return "\nPreToolUse stays in place for Cline in editors and the CLI 2: hooks of yours need it\n(hookspan hooks list). --pre-tool-use=false takes it away.\n"
	case f.preToolUse:
		return "\n" + preToolUseRisk + "\n"
	}
	return ""
}

func claudeFlags(c *cobra.Command, f *installFlags, undo bool) {
	scope, project, force := "whose settings: user, project or local",
		"the project's folder, for --scope project (which it implies) and local; this folder if not given",
		"rewrite entries of hookspan's that were edited"
	if undo {
		scope, project, force = "only these settings: user, project or local",
			"only this project's settings; for --scope project and local, this folder if not given",
			"accepted as for other agents; edited entries go anyway"
	}
	c.Flags().StringVar(&f.scope, "scope", "", scope)
	f.project.register(c, project)
	c.Flags().BoolVar(&f.force, "force", false, force)
	if undo {
		_ = c.Flags().MarkHidden("force")
	}
	_ = c.RegisterFlagCompletionFunc("scope", cobra.FixedCompletions(
		[]cobra.Completion{claude.ScopeUser, claude.ScopeProject, claude.ScopeLocal},
		cobra.ShellCompDirectiveNoFileComp))
}

// claudeOptions checks the flags against one another before anything is touched.
func claudeOptions(cmd *cobra.Command, f *installFlags, undo bool) (o install.Options, err error) {
	o = install.Options{Scope: f.scope, Force: f.force}
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
	if o.Project, err = f.project.folder(cmd, true); err != nil {
		return o, err
	}
	switch {
	case undo:
		o.OnlyProject = o.Scope == "" && named
		return o, nil
	case o.Scope == "" && named:
		o.Scope = claude.ScopeProject
	case o.Scope == "":
		o.Scope = claude.ScopeUser
	}
	if o.Scope == claude.ScopeUser {
		o.Project = ""
	}
	return o, nil
}

// warnOfStoppedHooks says that the user's hooks for Cline run no longer.
func (a *app) warnOfStoppedHooks(ctx context.Context) error {
	own := a.hookSetup().Sources("")
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
	if own.Guard() {
		hint += " --pre-tool-use"
	}
	a.printf("Your hooks in %s no longer run on Cline.\n", termtext.Value(own[0].Path))
	a.hint(hint + " brings them back")
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

// printRecording says what keeps installed hooks from recording.
func (a *app) printRecording() {
	switch {
	case diagnose.Paused(a.cfg):
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

func (a *app) system() install.System {
	return install.System{GOOS: a.goos, Home: a.home, Getenv: a.getenv, StateDir: a.cfg.StateDir}
}

// hooks reports the state of Cline's hooks.
func (a *app) hooks(ctx context.Context) (*install.Report, error) {
	m := &diagnose.Machine{Setup: a.setup(), Program: func(name string) (string, error) { return a.hookProgram(name, "") }}
	cline, _ := m.Agents.Named("cline")
	return m.HookStatus(ctx, cline)
}
