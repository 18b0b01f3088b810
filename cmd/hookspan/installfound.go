package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/internal/agents"
	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/provision"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
)

// installFoundCmd makes the command that installs the hooks of the agents on this
// machine. Its subcommands install those of one agent.
func installFoundCmd(a *app) *cobra.Command {
	cmd := group("install [AGENT]", "Install the hooks of your coding agents")
	cmd.Long = `Find the coding agents on this machine, by their programs in PATH, their folders and
their sessions, and offer to install hookspan's hooks for each. --yes installs them
without asking; without a terminal and without --yes, nothing is installed and the
commands are printed. hookspan install AGENT installs the hooks of one agent and takes
its options; hookspan uninstall AGENT undoes it.

--managed writes the hooks, as root, into the settings that an organisation has for
Claude Code, Codex and GitHub Copilot on this machine, where users cannot change them
and nobody is asked for trust; with --dry-run it prints them.`
	yes, dryRun := yesFlag(cmd), dryRunFlag(cmd)
	managed := cmd.Flags().Bool("managed", false, "install the hooks for everybody on this machine (as root)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *managed {
			return installManaged(a, cmd, false, *dryRun)
		}
		return installFound(a, cmd, *yes, *dryRun)
	}
	return cmd
}

func installFound(a *app, cmd *cobra.Command, yes, dryRun bool) error {
	found, passed, err := machineOf(a).Agents(cmd.Context())
	for _, p := range passed {
		a.printf("warning: %s is passed over, since %s\n", termtext.Value(p.Path), p.Reason)
	}
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
	width := 0
	for _, f := range found {
		width = max(width, len(f.Agent.Name))
	}
	for _, f := range found {
		state := ""
		switch {
		case !f.Installed:
			commands = append(commands, "hookspan install "+f.Agent.Word)
		case f.Off:
			state = ": has hookspan's hooks, but does not run them; hookspan doctor says why"
		default:
			state = ": has hookspan's hooks"
		}
		a.printf("%-*s  %s%s\n", width, f.Agent.Name, termtext.Value(f.Where), state)
	}
	switch {
	case len(commands) == 0:
		a.printf("\neverything is in place already\n")
		return offerImport(a, cmd, found)
	case !yes && !dryRun && !canAsk(a):
		return hinted{
			errors.New("nothing was installed: there is no terminal to ask on"),
			"hookspan install --yes installs all, or: " + strings.Join(commands, "; "),
		}
	}
	var errs []error
	for _, f := range found {
		if f.Installed {
			continue
		}
		a.printf("\n")
		var ask func() (bool, error)
		if !yes && !dryRun {
			ask = func() (bool, error) { return confirm(cmd.Context(), a, "Install the hooks of "+f.Agent.Name+"?") }
		}
		// One agent's fault does not keep the others from being installed.
		err := installAgent(a, agentCmd(cmd, f.Agent), f.Agent, install.Options{Dir: workingDir()}, dryRun, ask)
		if cmd.Context().Err() != nil {
			return err
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", f.Agent.Name, err))
		}
	}
	if !dryRun {
		errs = append(errs, offerImport(a, cmd, found))
	}
	return errors.Join(errs...)
}

// offerImport asks whether to import the sessions of agents of which there is no trace yet,
// or says how.
func offerImport(a *app, cmd *cobra.Command, found []provision.Found) error {
	here := make(map[string]bool)
	_ = a.withStore(cmd.Context(), func(ctx context.Context, s *store.Store) error {
		groups, err := s.Group(ctx, store.Filter{}, store.ByAgent, a.now().Location())
		for _, g := range groups {
			here[g.Key] = true
		}
		return err
	})
	for _, one := range provision.PastSessions(cmd.Context(), a.setup()) {
		switch {
		case one.Sessions == 0 || here[one.Agent.Host] || !slices.ContainsFunc(found, func(f provision.Found) bool { return f.Agent.Host == one.Agent.Host }):
			continue
		case !canAsk(a):
			a.hint("hookspan import " + one.Agent.Word + " makes traces of " + one.String())
			continue
		}
		ok, err := confirm(cmd.Context(), a, "Import "+one.String()+"?")
		if err == nil && ok {
			err = importFrom(a, cmd, one.Agent.Reader(), importFlags{})
		}
		if err != nil {
			return err
		}
	}
	return nil
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
