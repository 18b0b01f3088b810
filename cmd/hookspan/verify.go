package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/internal/pipeline"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/verify"
	"github.com/hookspan/hookspan/internal/traces/verify/agentfiles"
)

func verifyCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify [ID]",
		Short: "Check traces against the agent's own files",
		Long: `Compare traces with the files that the agent keeps itself, which code reads that has
nothing in common with what made the traces: every tool call with its name, agent and
status, every request to the model with its tokens, the prompts, and how each task
ended. The whole sessions of the traces are compared. ID is the beginning of a trace
id, as hookspan list prints it. Without an ID and a filter, it is the newest trace.

With --all, sessions without a trace, such as those of private folders, lines that are
no row and rows of kinds that are not known are named, too.

The exit code is 1 if something differs, or if no trace could be verified. A trace
whose files are gone is named and is no difference; with --strict it makes the exit
code 1 as well.`,
		Example: `  hookspan verify
  hookspan verify --since 1w
  hookspan verify --all --json`,
		Args: takes(1, "one trace id"), ValidArgsFunction: completeTraces(a),
	}
	strict := cmd.Flags().Bool("strict", false, "exit code 1 also if a trace could not be verified")
	ff := addFilterFlags(a, cmd)
	ff.addListing()
	limit := cmd.Flags().Lookup("limit")
	limit.Usage, limit.DefValue = "the newest of them, this many at most; without it all", "0"
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id := strings.Join(args, "")
		chosen := ff.any() || ff.all || cmd.Flags().Changed("limit")
		switch {
		case id != "" && chosen:
			return wrongUsage(cmd, "verify: found a trace id and filters: want one of them")
		case ff.all && ff.any():
			return wrongUsage(cmd, "verify: --all and filters: want one of them")
		}
		limited := cmd.Flags().Changed("limit")
		return ff.run(func(ctx context.Context, p *pipeline.Pipeline, f store.Filter) error {
			switch {
			case !chosen:
				f.Limit = 1
			case !limited:
				f.Limit = -1
			}
			sums, err := selected(ctx, ff, p, id, f)
			switch {
			case err != nil:
				return err
			case len(sums) == 0 && !chosen:
				return noSuchTrace(ctx, a, p, id, store.ErrNotFound)
			case len(sums) == 0:
				return errors.New("no tasks match: nothing was verified")
			}
			v := &verify.Verifier{
				Store: p.Store, Env: agentfiles.Env{Home: a.home, Getenv: a.getenv}, Now: a.now(), Clean: a.clean, Off: a.off, All: chosen && !limited && !ff.any(),
			}
			rep, err := v.Verify(ctx, sums)
			if err != nil {
				return err
			}
			rep.Clean(a.clean)
			good := rep.Different == 0 && len(rep.Sessions) == 0 && rep.Verified > 0 && (rep.Unverified == 0 || !*strict)
			return a.result(ff.asJSON, rep, good, func() { a.printf("%s", rep.Text(a.terminal())) })
		})
	}
	return cmd
}
