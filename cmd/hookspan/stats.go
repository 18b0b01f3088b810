package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

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
weeks begin on Monday; a task counts where it began. With --by tool or command, TASKS
are those with such a call; with --by hook, CALLS are the hook's. With --tool, --grep,
--failed and --denied, --by tool and command count only calls that are so themselves.`,
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

func (f *statsFlags) print(ctx context.Context, s *store.Store, filter store.Filter) error {
	a := f.app
	if err := f.ended(filter); err != nil {
		return err
	}
	keys := []store.By{store.By(f.by)}
	if f.by == "" {
		keys = overviewKeys
	}
	all, grouped, err := f.sum(ctx, s, filter, keys)
	if err != nil {
		return err
	}
	if all.Traces == 0 && !f.asJSON && !f.asCSV {
		a.printf("no tasks%s\n", map[bool]string{true: " match", false: " yet"}[f.any()])
		return nil
	}
	if f.by == "" {
		return f.overview(grouped, all)
	}
	by := store.By(f.by)
	groups := grouped[by]
	if by == store.ByCommand {
		groups = slices.DeleteFunc(groups, func(g store.Group) bool { return g.Key == "" }) // calls that run none
	}
	if by.OfCalls() && by != store.ByHook { // those of the tasks are of all calls
		sum := view.SumOf(grouped[by])
		all.Calls, all.Failures, all.Denials = sum.Calls, sum.Failures, sum.Denials
	}
	view.LargestFirst(by, groups)
	shown := groups
	if limit := cmp.Or(max(filter.Limit, 0), len(groups)); limit < len(groups) {
		shown = groups[:limit]
		if view.IsTime(by) {
			shown = groups[len(groups)-limit:] // the newest
		}
		defer a.hint(fmt.Sprintf("%d of %d; --all lists every one", limit, len(groups)))
	}
	switch {
	case f.asJSON:
		return a.printJSON(statsJSON{By: by, Totals: all, Groups: append([]store.Group{}, shown...)})
	case f.asCSV:
		return view.CSV(a.stdout, by, shown)
	case len(shown) == 0:
		a.printf("no tasks have a %s\n", by)
		return nil
	}
	if by == store.ByHook || by == store.ByCommand || slices.Contains(view.WorkKeys, by) {
		all = view.SumOf(groups) // those of all traces are of all calls
	}
	return view.Groups(a.stdout, by, shown, all, a.viewOptions())
}

// sum sums up by each of the keys.
func (f *statsFlags) sum(ctx context.Context, s *store.Store, filter store.Filter, keys []store.By) (store.Totals, map[store.By][]store.Group, error) {
	by := keys[0]
	work := slices.Contains(view.WorkKeys, by)
	if work {
		keys = nil
	}
	all, grouped, err := s.Groups(ctx, filter, f.app.now().Location(), keys...)
	if err != nil || !work && by != store.ByModel {
		return all, grouped, err
	}
	sums := view.Sums{By: by, Calls: view.CallFilter{Tool: filter.Tool, Failed: filter.Failed, Denied: filter.Denied}}
	err = s.EachWork(ctx, filter, nil, func(w *store.Work) error { sums.Add(w); return nil })
	if work {
		grouped[by] = sums.Groups()
		return all, grouped, err
	}
	denied := make(map[string]int)
	for _, g := range sums.Groups() {
		denied[g.Key] = g.EditsDenied
	}
	for i, g := range grouped[by] {
		grouped[by][i].EditsDenied = denied[g.Key]
	}
	return all, grouped, err
}

// sectionLength is how many groups a section of the overview shows.
const sectionLength = 5

// overviewKeys are the keys of the overview's sections.
var overviewKeys = []store.By{store.ByDay, store.ByProject, store.ByModel, store.ByTool}

func (f *statsFlags) overview(grouped map[store.By][]store.Group, all store.Totals) error {
	sections := make(map[store.By][]store.Group)
	v := view.Overview{All: all}
	for _, by := range overviewKeys {
		groups := grouped[by]
		view.LargestFirst(by, groups)
		sections[by] = append([]store.Group{}, groups...)
		from, to := 0, min(len(groups), sectionLength)
		if view.IsTime(by) {
			from, to = len(groups)-to, len(groups)
		}
		v.Sections = append(v.Sections, view.Section{By: by, Groups: groups[from:to], Of: len(groups)})
	}
	if f.asJSON {
		return f.app.printJSON(statsJSON{Totals: all, Sections: sections})
	}
	return view.Stats(f.app.stdout, v, f.app.viewOptions())
}
