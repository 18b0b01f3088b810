package main

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/pipeline"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
	"github.com/hookspan/hookspan/internal/userhooks/hooksession"
	"github.com/hookspan/hookspan/otelmap"
)

// removes says what delete and prune remove, and what not.
const removes = `The traces are removed from the local store and its index, and their texts are
overwritten within its file. They no longer wait for a destination. A session's log of
events, and what is kept of it for your hooks, are removed with the last of its traces
once the session has ended; before that they stay until a day after its last event, or
a week.

Not removed are the agent's own files, what destinations have received, and what was
exported. For a year the store remembers the ids, times, session and folder of each
removed task, so that an import leaves it out; hookspan import --again imports it.`

func deleteCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "delete [ID]",
		Short: "Delete traces from this machine",
		Long: `Delete a trace, or all traces that the filters select. ID is the beginning of a
trace id, as hookspan list prints it. On a terminal it shows the traces and asks;
without a terminal, use --yes.

` + removes,
		Args:              takes(1, "one trace id"),
		ValidArgsFunction: completeTraces(a),
	}
	ff := addFilterFlags(a, cmd)
	cmd.Flags().BoolVar(&ff.all, "all", false, "every trace")
	yes, dryRun := yesFlag(cmd), dryRunFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id := strings.Join(args, "")
		switch chosen := ff.any() || ff.all; {
		case id != "" && chosen:
			return wrongUsage(cmd, "delete: found a trace id and filters: want one of them")
		case ff.all && ff.any():
			return wrongUsage(cmd, "delete: --all and filters: want one of them")
		case id == "" && !chosen:
			return wrongUsage(cmd, "delete: name a trace or filters such as --project ., or use --all for every trace")
		}
		f, err := ff.check()
		if err == nil {
			err = cmp.Or(possible(cmd, "--since", ff.since, f.Since), possible(cmd, "--until", ff.until, f.Until))
		}
		if err != nil {
			return err
		}
		ff.all = true
		return ff.run(func(ctx context.Context, p *pipeline.Pipeline, f store.Filter) error {
			if id != "" || f.Outcome == otelmap.OutcomeRunning {
				traces, err := selected(ctx, ff, p, id, f)
				if err != nil {
					return err
				}
				f.Trace = traces[0].TraceID
			}
			return deleteTraces(ctx, a, p.Store, f, *yes, *dryRun)
		})
	}
	return cmd
}

func pruneCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "prune --before WHEN",
		Short: "Delete old traces from this machine",
		Long: `Delete all traces that began before WHEN: a time ago such as 12h, 30d or 2w, or a day
such as 2026-01-31. On a terminal it asks; without a terminal, use --yes. By itself,
hookspan removes traces after HOOKSPAN_RETENTION, counted for imported ones from the
import.

` + removes,
	}
	before := cmd.Flags().String("before", "", "delete what began before: 12h, 30d, 2w, or a day such as 2026-01-31")
	yes, dryRun := yesFlag(cmd), dryRunFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *before == "" {
			return wrongUsage(cmd, "prune: --before: found nothing, want a time ago such as 30d, or a day such as 2026-01-31")
		}
		until, _, err := view.Period(*before, a.now())
		switch {
		case err != nil:
			return wrongUsage(cmd, "--before %w", err)
		case until.After(a.now()):
			return wrongUsage(cmd, "--before %q: want a time in the past", *before)
		}
		if err := possible(cmd, "--before", *before, until); err != nil {
			return err
		}
		return a.withStore(cmd.Context(), func(ctx context.Context, s *store.Store) error {
			return deleteTraces(ctx, a, s, store.Filter{Until: until, Limit: -1}, *yes, *dryRun)
		})
	}
	return cmd
}

func yesFlag(cmd *cobra.Command) *bool { return cmd.Flags().Bool("yes", false, "do not ask") }

// shownBefore is how many traces are listed before they are deleted.
const shownBefore = 10

// deleteTraces deletes the traces that the filter selects now, after a person has agreed:
// what is shown is what goes, whatever the filter selects when the answer comes.
func deleteTraces(ctx context.Context, a *app, s *store.Store, f store.Filter, yes, dryRun bool) error {
	page, err := s.Page(ctx, f)
	if err != nil {
		return err
	}
	traces := page.Traces
	if len(traces) == 0 {
		a.printf("no tasks match\n")
		return nil
	}
	if dryRun || !yes {
		if err := view.List(a.stdout, traces[:min(len(traces), shownBefore)], 0, nil, page.Totals, a.viewOptions()); err != nil {
			return err
		}
		if more := len(traces) - shownBefore; more > 0 {
			a.printf("the oldest began %s\n", traces[len(traces)-1].Started.In(a.now().Location()).Format(time.DateTime))
		}
	}
	switch {
	case dryRun:
		return nil
	case yes:
	case !canAsk(a):
		return hinted{errors.New("nothing was deleted: there is no terminal to ask on"), "--yes deletes them without asking"}
	default:
		ok, err := confirm(ctx, a, "Delete "+them(traces)+"?")
		if err != nil {
			return err
		}
		if !ok {
			return errors.New("nothing was deleted")
		}
	}
	return deleteNow(ctx, a, s, traces)
}

// deleteNow deletes traces, and what is kept for hooks of sessions that go with them.
func deleteNow(ctx context.Context, a *app, s *store.Store, traces []store.Summary) error {
	setup := a.setup()
	setup.Store = s
	n, forgotten, err := setup.Delete(ctx, traces, func(host, session string) error {
		if host != hook.HostCline {
			return nil
		}
		return hooksession.At(hooksession.Dir(a.cfg.StateDir), session, a.now).Remove()
	})
	if err != nil {
		return err
	}
	a.printf("deleted %s\n", termtext.Plural(n, "trace"))
	if forgotten.Waiting > 0 {
		a.printf("cancelled %s that waited for a destination\n", termtext.Plural(forgotten.Waiting, "upload"))
	}
	if forgotten.Kept > 0 {
		a.hint("the log of " + termtext.Plural(forgotten.Kept, "session") + " stays until a day after its last event; it may hold events of what was deleted")
	}
	return nil
}
