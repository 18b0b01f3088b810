package main

import (
	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/internal/install/cline"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/ui/hooks"
	"github.com/hookspan/hookspan/internal/userhooks"
	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
	"github.com/hookspan/hookspan/internal/userhooks/shelltext"
)

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
