package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/internal/agents"
	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/transcript"
)

// receipt says what reconcile did for an agent. Its JSON is stable.
type receipt struct {
	Agent string `json:"agent"`
	Name  string `json:"name"`
	// State is installed, updated, unchanged, removed, absent or failed.
	State string `json:"state"`
	// Managed is the organisation's file with the agent's hooks, Detail says more.
	Managed string `json:"managed,omitempty"`
	Detail  string `json:"detail,omitempty"`
}

// The states of a receipt. Removed are hooks that an organisation's make superfluous.
const (
	receiptInstalled = "installed"
	receiptUpdated   = "updated"
	receiptUnchanged = "unchanged"
	receiptRemoved   = "removed"
	receiptAbsent    = "absent"
	receiptFailed    = "failed"
)

// receipts are the result of reconcile.
type receipts struct {
	Version string `json:"version"`
	// Changed reports that something was, or with --dry-run would be, changed.
	Changed bool `json:"changed"`
	// Programs is the version of the programs that the user's hooks start, if any do.
	Programs string    `json:"programs,omitempty"`
	Agents   []receipt `json:"agents"`
}

func reconcileCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "reconcile", Short: "Bring every agent on this machine to the wanted state, without asking",
		Long: `Install the hooks of each coding agent that is here, renew those that are old, remove
those that the settings of an organisation make superfluous, and print a receipt for
each: installed, updated, unchanged, removed, absent or failed. An agent that is absent
is no failure. Nothing is asked: it is for device management, images and logon scripts.

Run it again after an upgrade, and at logon: it then picks up agents that came later.
As root, --user NAME does it for that user; the files belong to the user.

Exit codes: 0 when every agent is as wanted, 1 when one failed, 64 for wrong usage.`,
	}
	asJSON, dryRun := jsonFlag(cmd), dryRunFlag(cmd)
	user := cmd.Flags().String("user", "", "do it for this user (as root)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *user != "" {
			args := []string{"reconcile"}
			for flag, set := range map[string]bool{"--json": *asJSON, "--dry-run": *dryRun} {
				if set {
					args = append(args, flag)
				}
			}
			if as, err := asUser(cmd.Context(), a, *user, args); as || err != nil {
				return err
			}
		}
		out := reconcile(cmd.Context(), a, *dryRun)
		ok := true
		for _, r := range out.Agents {
			ok = ok && r.State != receiptFailed
		}
		return a.result(*asJSON, out, ok, func() {
			a.configProblems()
			for _, r := range out.Agents {
				a.printf("%-15s %-9s %s\n", r.Name, r.State, termtext.Value(cmp.Or(r.Detail, r.Managed)))
			}
			if *dryRun {
				a.printf("\nnothing was done (--dry-run)\n")
			}
		})
	}
	return cmd
}

// reconcile brings the agents of this user to the wanted state.
func reconcile(ctx context.Context, a *app, dryRun bool) receipts {
	out := receipts{Version: buildVersion()}
	files := &transcript.Files{Home: a.home, Getenv: a.getenv, GOOS: a.goos, Now: a.now, Sleep: a.sleep}
	copied := false
	for _, agent := range a.agents {
		r := receipt{Agent: agent.Word, Name: agent.Name}
		err := r.reconcile(ctx, a, agent, files, dryRun, func() (err error) {
			if !copied && !dryRun {
				var changed bool
				changed, err = copyPrograms(ctx, a)
				out.Changed, copied = out.Changed || changed, true
			}
			return err
		})
		if err != nil {
			r.State, r.Detail = receiptFailed, termtext.Message(err)
		}
		out.Changed = out.Changed || r.State == receiptInstalled || r.State == receiptUpdated || r.State == receiptRemoved
		out.Agents = append(out.Agents, r)
	}
	out.Programs, _ = copiesOf(a).Version()
	return out
}

// reconcile does what one agent needs. programs copies the hook programs.
func (r *receipt) reconcile(ctx context.Context, a *app, agent agents.Agent, files *transcript.Files, dryRun bool, programs func() error) error {
	report, err := machineOf(a).HookStatus(ctx, agent)
	if err != nil {
		return err
	}
	own := false // hooks of the user
	for _, s := range report.Sites {
		if s.Kind == install.ScopeManaged {
			r.Managed = cmp.Or(r.Managed, s.Path)
		} else {
			own = own || s.Present && s.Project == ""
		}
	}
	o := install.Options{}
	run := agent.Installer.Plan
	where, _ := agent.FoundIn(ctx, files)
	switch {
	case r.Managed != "" && !own:
		r.State = receiptUnchanged
		return nil
	case r.Managed != "":
		run, r.State = agent.Installer.PlanUninstall, receiptRemoved
		o.Scope = install.ScopeUser
	case !own && where == "":
		r.State = receiptAbsent
		return nil
	default:
		if err := useCopy(a, agent.Program, &o); err != nil {
			return err
		}
		if o.ForHooks, err = guardInPlace(ctx, a, ""); err != nil {
			return err
		}
		o.PreToolUse = o.ForHooks
		if r.State = receiptInstalled; own {
			r.State = receiptUpdated
		}
	}
	plan, err := run(ctx, systemOf(a), o)
	if err != nil {
		return err
	}
	if !plan.Undo {
		if err := programs(); err != nil {
			return err
		}
	}
	if !plan.Changed() {
		r.State = receiptUnchanged
	}
	if plan.Next != "" {
		r.Detail = plan.Next
	} else if len(report.Off) > 0 {
		r.Detail = report.Off[0]
	}
	if n := len(plan.Edited()) + len(plan.Foreign()); n > 0 {
		r.Detail = fmt.Sprintf("%s left as found: hookspan install %s says which", termtext.Plural(n, "hook"), agent.Word)
	}
	if dryRun {
		return nil
	}
	return install.Apply(plan)
}
