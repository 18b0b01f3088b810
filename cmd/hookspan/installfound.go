package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/internal/agents"
	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/transcript"
)

// installFoundCmd makes the command that installs the hooks of the agents on this
// machine. Its subcommands install those of one agent.
func installFoundCmd(a *app) *cobra.Command {
	cmd := group("install [AGENT]", "Install the hooks of your coding agents")
	cmd.Long = `Find the coding agents on this machine, by their programs in PATH, their folders and
their sessions, and offer to install hookspan's hooks for each. --yes installs them
without asking; without a terminal and without --yes, nothing is installed and the
commands are printed. hookspan install AGENT installs the hooks of one agent and takes
its options; hookspan uninstall AGENT undoes it.`
	yes, dryRun := yesFlag(cmd), dryRunFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return installFound(a, cmd, *yes, *dryRun) }
	return cmd
}

// foundAgent is an agent on this machine.
type foundAgent struct {
	agents.Agent
	// where is what shows that it is here.
	where string
	// installed reports that its hooks are in place.
	installed bool
}

func installFound(a *app, cmd *cobra.Command, yes, dryRun bool) error {
	found, err := findAgents(a, cmd)
	switch {
	case err != nil:
		return err
	case len(found) == 0:
		return hinted{
			errors.New("no coding agent was found on this machine, neither programs nor folders of " + strings.Join(a.agents.Words(), ", ")),
			"hookspan install AGENT installs the hooks of an agent that is not here yet",
		}
	}
	var commands []string
	for _, f := range found {
		state := ""
		if f.installed {
			state = ": has hookspan's hooks"
		} else {
			commands = append(commands, "hookspan install "+f.Word)
		}
		a.printf("%-12s %s%s\n", f.Name, termtext.Value(f.where), state)
	}
	switch {
	case len(commands) == 0:
		a.printf("\neverything is in place already\n")
		return nil
	case !yes && !dryRun && !canAsk(a):
		return hinted{
			errors.New("nothing was installed: there is no terminal to ask on"),
			"hookspan install --yes installs all, or: " + strings.Join(commands, "; "),
		}
	}
	var errs []error
	for _, f := range found {
		if f.installed {
			continue
		}
		a.printf("\n")
		if !yes && !dryRun {
			ok, err := confirm(a, "Install the hooks of "+f.Name+"?")
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
		}
		// One agent's fault does not keep the others from being installed.
		if err := installAgent(a, agentCmd(cmd, f.Agent), f.Agent, install.Options{Dir: workingDir()}, dryRun); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", f.Name, err))
		}
	}
	return errors.Join(errs...)
}

// findAgents returns the agents on this machine and those that have hooks already.
func findAgents(a *app, cmd *cobra.Command) ([]foundAgent, error) {
	files := &transcript.Files{Home: a.home, Getenv: a.getenv, GOOS: a.goos, Now: a.now, Sleep: a.sleep}
	var found []foundAgent
	for _, agent := range a.agents {
		report, err := machineOf(a).HookStatus(cmd.Context(), agent)
		if err != nil {
			return nil, err
		}
		where := agent.FoundIn(cmd.Context(), files)
		for _, s := range report.Sites {
			if s.Present && where == "" {
				where = s.Path
			}
		}
		if where != "" {
			found = append(found, foundAgent{agent, where, report.Healthy()})
		}
	}
	return found, nil
}

// agentCmd returns the subcommand of an agent, which has its flags.
func agentCmd(all *cobra.Command, agent agents.Agent) *cobra.Command {
	for _, c := range all.Commands() {
		if c.Name() == agent.Word {
			c.SetContext(all.Context())
			return c
		}
	}
	return all
}
