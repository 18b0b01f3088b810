package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/internal/install/cline"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/ui/hooks"
	"github.com/hookspan/hookspan/internal/userhooks"
	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
	"github.com/hookspan/hookspan/internal/userhooks/sample"
	"github.com/hookspan/hookspan/internal/userhooks/shelltext"
)

func hooksCmd(a *app) *cobra.Command {
	c := group("hooks COMMAND", "Run your own hooks, in Claude Code's form, when Cline works",
		hooksListCmd(a), hooksAddCmd(a), hooksRemoveCmd(a), hooksImportCmd(a),
		hooksTrustCmd(a), hooksUntrustCmd(a), hooksTestCmd(a))
	c.Long = `Your own hooks, in the form of Claude Code's settings, run when Cline works. They
are in ~/.cline/hooks.json, for all your projects, and in a project's
.cline/hooks.json, which counts once you trust it.

  hookspan hooks add --event PreToolUse --matcher Bash -- ~/guard.sh
  hookspan hooks test --event PreToolUse --tool execute_command --json '{"command":"ls"}'
  hookspan hooks list`
	return c
}

func projectFlag(cmd *cobra.Command, usage string) {
	cmd.Flags().String("project", "", usage)
	_ = cmd.MarkFlagDirname("project")
}

// projectDir returns the project's folder. Without the flag it is empty, or with
// here the working directory.
func projectDir(cmd *cobra.Command, here bool) (string, error) {
	name, _ := cmd.Flags().GetString("project") // empty for a command without the flag
	if name == "" && !here {
		return "", nil
	}
	dir, err := filepath.Abs(name)
	if err != nil {
		return "", fmt.Errorf("--project %q: %w", name, err)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", wrongUsage(cmd, "--project %q: not a folder: want the folder of a project that exists", name)
	}
	return dir, nil
}

// hooksText writes about hooks on standard output.
func (a *app) hooksText() hooks.Text { return hooks.Text{W: a.stdout, Clean: a.clean} }

// hintUnknown says that a tool is not known. No tool, an empty name, is known.
func hintUnknown(a *app, tool string) {
	if tool == "" || sample.KnownTool(tool) {
		return
	}
	a.hint("hookspan knows no tool " + termtext.Value(tool) + ", of Cline's or Claude Code's; upper and lower case count")
}

func hooksListCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List your hooks, and what in their files will not work",
		Long: `List the hooks in your own hooks.json and in that of the project, with the numbers
that hooks remove takes. --for shows those that a call of a tool starts: Cline's name
of it, or Claude Code's.`,
	}
	projectFlag(cmd, "the project's folder; the working directory if not given")
	asJSON, tool := jsonFlag(cmd), cmd.Flags().String("for", "", "only hooks that a call of this tool starts")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if cmd.Flags().Changed("for") && *tool == "" {
			return wrongUsage(cmd, "--for: want a tool's name, such as execute_command or Bash")
		}
		dir, err := projectDir(cmd, true)
		if err != nil {
			return err
		}
		setup := hookSetup(a)
		sources := setup.Sources(dir)
		l := setup.List(sources)
		if *tool != "" {
			if err := l.Keep(setup, *tool, dir, a.now()); err != nil {
				return err
			}
		}
		report, err := machineOf(a).Cline(cmd.Context())
		if err != nil {
			return err
		}
		l.Reach(cline.HostsOf(report, dir).Of)
		return a.result(*asJSON, l, true, func() {
			printHooks(a, l, *tool)
			if handlers := sources.Handlers(); len(handlers) > 0 {
				a.printf("\n")
				err = printHosts(cmd.Context(), a, dir, handlers)
			}
			hintUnknown(a, *tool)
		})
	}
	return cmd
}

func printHooks(a *app, l userhooks.Listing, tool string) {
	if len(l.Files) == 0 {
		a.printf("you have no hooks: there is no hooks.json\n")
		a.hint("hookspan hooks add makes one, hookspan hooks import claude takes over Claude Code's")
		return
	}
	if !a.cfg.Hooks {
		a.printf("none of these runs: HOOKSPAN_HOOKS is false\n")
	}
	text := a.hooksText()
	text.Files(l.Files, tool)
	printSwitchedOff(a, l)
	text.Problems(l.Problems)
	for _, f := range l.Files {
		if !f.Trusted && f.Error == "" {
			a.hint("read what " + termtext.Value(f.Path) + " runs, then: hookspan hooks trust " + shelltext.PromptWord(a.goos, hookfile.ProjectOf(f.Path)))
		}
	}
}

// printSwitchedOff prints the hooks that the page has taken out of their files.
func printSwitchedOff(a *app, l userhooks.Listing) {
	m := hookMachine(a, nil)
	head := "\nswitched off\n"
	for _, f := range l.Files {
		off, err := m.SwitchedOff(f.Path)
		if err != nil {
			a.warnf("%s", termtext.Message(err))
			return
		}
		for _, h := range off {
			a.printf("%s  %s  %s  %s\n", head, termtext.Value(h.Event), termtext.Value(hooks.MatcherText(h.Matcher)), termtext.Value(h.Text))
			head = ""
		}
	}
	if head == "" {
		a.hint("hookspan ui --edit switches them on again")
	}
}
