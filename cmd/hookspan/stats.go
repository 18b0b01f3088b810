package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/internal/pipeline"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
)

type statsFlags struct {
	*filterFlags
	by string
}

func statsCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "stats", Short: "Sum up what the agents did, and what it cost",
		Long: `Sum up what the agents did: tasks, calls, failures, denials, times, tokens and cost,
over all tasks or those that the filters select. Without --by it is an overview.

  hookspan stats --by tool --since 1w        which tool fails most
  hookspan stats --by model --since monday
  hookspan stats --by command --project .    how long test commands take here
  hookspan stats --by hook                   what your hooks denied

P50 and P95 are the times that half and 95 % of the tasks, calls or hooks did not
exceed. IN includes what came from the cache, CACHED is its share. A cost leaves out
the models without a price, which are named. Days are those of the local time zone,
weeks begin on Monday; a task counts where it began. With --by model a task counts for
its main model, tokens and cost for the model of each request, MEDIAN is the middle
one of the tasks' costs and DEAREST the share of the dearest in all. With --by tool or
command, TASKS are those with such a call; with --by hook, CALLS are the hook's. With
--tool, --grep, --failed and --denied, --by tool and command count only calls that are
so themselves; the rate of failures stays that of all calls. With --by repository,
branch or pr each request counts where it was made; what is in doubt is "(not known)".`,
	}
	f := &statsFlags{filterFlags: addFilterFlags(a, cmd)}
	f.addListing()
	var words []string
	for _, k := range slices.Concat(store.Keys, view.WorkKeys) {
		words = append(words, string(k))
	}
	cmd.Flags().StringVar(&f.by, "by", "", "one line for each "+strings.Join(words, ", "))
	cmd.Flags().BoolVar(&f.asCSV, "csv", false, "print as CSV, with times in milliseconds")
	oneOf(cmd, "by", words...)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		switch changed := cmd.Flags().Changed; {
		case changed("by") && !slices.Contains(words, f.by):
			return wrongUsage(cmd, "--by %q: want one of %s", f.by, strings.Join(words, ", "))
		case f.asCSV && f.by == "":
			return wrongUsage(cmd, "--csv: it needs --by, with one of %s", strings.Join(words, ", "))
		case f.by == "" && (f.all || changed("limit")):
			return wrongUsage(cmd, "--limit and --all: want --by, to say of what")
		case (f.f.Failed || f.f.Denied) && (f.by == string(view.ByFailure) || f.by == string(view.ByDenial)):
			return wrongUsage(cmd, "--by %s: want no --failed and no --denied: it is of such calls alone", f.by)
		case f.asCSV && f.asJSON:
			return wrongUsage(cmd, "--csv and --json: want one of them")
		}
		return f.run(f.print)
	}
	return cmd
}

// statsJSON is what --json prints: with --by its groups, else the overview's sections
// by their keys.
type statsJSON struct {
	By       store.By                   `json:"by,omitempty"`
	Totals   store.Totals               `json:"totals"`
	Groups   []store.Group              `json:"groups,omitzero"`
	Sections map[store.By][]store.Group `json:"sections,omitempty"`
}

func (f *statsFlags) print(ctx context.Context, p *pipeline.Pipeline, filter store.Filter) error {
	a, by, zone := f.app, store.By(f.by), f.app.now().Location()
	if err := f.ended(filter); err != nil {
		return err
	}
	if by == "" {
		return f.overview(ctx, p.Store, filter, zone)
	}
	sums, err := view.SumBy(ctx, p.Store, filter, zone, by, a.said)
	if err != nil {
		return err
	}
	shown := sums.Groups
	if filter.Limit > 0 && filter.Limit < len(shown) {
		shown = view.First(by, shown, filter.Limit)
		defer a.hint(fmt.Sprintf("%d of %d; --all lists every one", len(shown), len(sums.Groups)))
	}
	switch {
	case f.asJSON:
		return a.printJSON(statsJSON{By: by, Totals: sums.Totals, Groups: append([]store.Group{}, shown...)})
	case f.asCSV:
		return view.CSV(a.stdout, by, shown)
	case sums.Totals.Traces == 0:
		f.nothing()
		return nil
	case len(shown) == 0:
		a.printf("no tasks have a %s\n", by)
		return nil
	}
	return view.Groups(a.stdout, by, shown, sums.Line, a.viewOptions())
}

// nothing says that no task is selected.
func (f *statsFlags) nothing() {
	f.app.printf("no tasks%s\n", map[bool]string{true: " match", false: " yet"}[f.any()])
}

func (f *statsFlags) overview(ctx context.Context, s *store.Store, filter store.Filter, zone *time.Location) error {
	all, grouped, err := s.Groups(ctx, filter, zone, view.OverviewKeys...)
	switch {
	case err != nil:
		return err
	case f.asJSON:
		return f.app.printJSON(statsJSON{Totals: all, Sections: grouped})
	case all.Traces == 0:
		f.nothing()
		return nil
	}
	return view.Stats(f.app.stdout, all, grouped, f.app.viewOptions())
}
