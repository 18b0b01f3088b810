package main

import (
	"cmp"
	"errors"
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/internal/provision"
	"github.com/hookspan/hookspan/internal/termtext"
)

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
			as, err := provision.AsUser(cmd.Context(), *user, args, a.stdout, a.stderr)
			var exit *exec.ExitError
			switch {
			case errors.Is(err, errors.ErrUnsupported):
				return hinted{errors.New("--user: not on Windows"), "run hookspan reconcile as the user, for example from a logon script"}
			case errors.As(err, &exit) && exit.ExitCode() > 0:
				return exitError(exit.ExitCode())
			case as || err != nil:
				return err
			}
		}
		out := machineOf(a).Reconcile(cmd.Context(), *dryRun)
		ok := true
		for _, r := range out.Agents {
			ok = ok && r.State != provision.Failed
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
