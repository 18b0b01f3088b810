package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/internal/pipeline"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
)

func compareCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "compare SIDE SIDE", Short: "Compare tasks: two models, two weeks, two agents, or two traces",
		Long: `Compare two sets of tasks by cost, time, tokens, failures and denials, as sums and for a
task. SIDE is a trace id, or filters by the names of the flags with a comma between; the
flags themselves apply to both sides.

  hookspan compare model=opus model=sonnet --since 4w --project .
  hookspan compare since=2w,until=1w since=1w
  hookspan compare 1c29f818 836deb55`,
	}
	ff := addFilterFlags(a, cmd)
	asJSON := jsonFlag(cmd)
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) != 2 {
			return wrongUsage(cmd, "compare: found %s, want two, such as model=opus model=sonnet", termtext.Plural(len(args), "side"))
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var sides [2]*filterFlags
		for i, word := range args {
			var err error
			if sides[i], err = ff.side(word); err != nil {
				return err
			}
		}
		return withPipeline(cmd.Context(), a, func(ctx context.Context, p *pipeline.Pipeline) error {
			of := make([]store.Group, len(sides))
			for i, one := range sides {
				f, err := one.check()
				if err == nil && one.project != "" {
					f.Directory, f.Resolved, err = one.folder(ctx, p.Store)
				}
				if err != nil {
					return err
				}
				if of[i], err = sideOf(ctx, p.Store, args[i], f); err != nil {
					return err
				}
			}
			if *asJSON {
				return a.printJSON(of)
			}
			return view.Sides(a.stdout, of, a.viewOptions())
		})
	}
	return cmd
}

// side returns the filters of a side: the flags, and those that its word has.
func (ff *filterFlags) side(word string) (*filterFlags, error) {
	cmd := &cobra.Command{Use: "compare"}
	one := addFilterFlags(ff.app, cmd)
	one.cmd = ff.cmd // whose help is hinted at
	one.f, one.project, one.agent, one.since, one.until = ff.f, ff.project, ff.agent, ff.since, ff.until
	for part := range strings.SplitSeq(word, ",") {
		name, value, ok := strings.Cut(part, "=")
		switch {
		case !ok && (name == "failed" || name == "denied"):
			value = "true"
		case !ok:
			one.f.Trace = name
			continue
		case cmd.Flags().Lookup(name) == nil || value == "":
			return nil, wrongUsage(ff.cmd, "compare %q: want a trace id, or filters such as model=opus or since=1w", word)
		}
		if err := cmd.Flags().Set(name, value); err != nil {
			return nil, wrongUsage(ff.cmd, "compare %q: %s", word, flagError(err))
		}
	}
	return one, nil
}

// sideOf sums up the tasks of a side.
func sideOf(ctx context.Context, s *store.Store, name string, f store.Filter) (store.Group, error) {
	all, err := s.Totals(ctx, f)
	if err == nil && f.Trace != "" && all.Traces == 0 {
		return store.Group{}, hinted{fmt.Errorf("compare %q: no trace begins with that and fits the filters", name), "hookspan list prints the ids"}
	}
	sums := view.Sums{By: view.BySide}
	if err == nil {
		err = s.EachWork(ctx, f, nil, func(w *store.Work) error { sums.Add(w); return nil })
	}
	side := store.Group{Key: name, Totals: all}
	for _, g := range sums.Groups() {
		side.P50, side.P95, side.EditsDenied = g.P50, g.P95, g.EditsDenied
	}
	return side, err
}
