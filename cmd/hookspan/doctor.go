package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/internal/diagnose"
	"github.com/hookspan/hookspan/internal/termtext"
)

func (a *app) doctorCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "Diagnose problems that keep traces from appearing",
		Long: `Look at the hooks, the settings, the spool, the log and the state of delivery, and
say what is wrong and what to do about it. Nothing is sent; hookspan test does that.
For each destination it reports the last try and its result. The exit code is 1 when
there is a problem.`,
		Args: takes(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			found := a.machine().Examine(cmd.Context())
			if asJSON {
				if err := a.printJSON(found); err != nil {
					return err
				}
			} else {
				a.printFindings(found)
			}
			if slices.ContainsFunc(found, func(f diagnose.Finding) bool { return f.Level == diagnose.Problem }) {
				return exitError(1)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func (a *app) printFindings(found []diagnose.Finding) {
	for _, f := range found {
		a.printf("%-8s %s\n", f.Level, termtext.Value(f.Text))
		if f.Hint != "" {
			a.printf("%-8s hint: %s\n", "", termtext.Value(f.Hint))
		}
	}
}
