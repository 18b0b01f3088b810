package main

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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
flags themselves apply to both sides. Each side has whole tasks: with model=opus those
with a request to it, whatever other models they used, and OF MODEL is its own cost.
MEDIAN is the cost of the middle task, DEAREST the share of the dearest task in all: where
it is large, one task decides COST/TASK.

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
		var filters [2]store.Filter
		for i, word := range args {
			var err error
			if sides[i], filters[i], err = ff.side(word); err != nil {
				return err
			}
		}
		return withPipeline(cmd.Context(), a, func(ctx context.Context, p *pipeline.Pipeline) error {
			of := make([]store.Group, len(sides))
			for i, one := range sides {
				err := one.with(ctx, p, filters[i], func(ctx context.Context, p *pipeline.Pipeline, f store.Filter) (err error) {
					of[i], err = sideOf(ctx, a, p, args[i], f)
					return err
				})
				if err != nil {
					return err
				}
			}
			if *asJSON {
				return a.printJSON(of)
			}
			for i := range of {
				if of[i].Traces == 0 {
					defer a.hint("no tasks match " + args[i])
					defer a.hintNames(filters[i].Model, filters[i].Tool)
				}
			}
			return view.Sides(a.stdout, of, a.viewOptions())
		})
	}
	return cmd
}

// side returns the filters of a side: the flags, and those that its word has.
func (ff *filterFlags) side(word string) (one *filterFlags, f store.Filter, err error) {
	// Its errors hint at the help of the command.
	cmd := &cobra.Command{Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: ff.cmd.CommandPath()}}
	one = addFilterFlags(ff.app, cmd)
	set := func(name, value string) {
		if bad := cmd.Flags().Set(name, value); bad != nil && err == nil {
			err = wrongUsage(cmd, "compare %q: %s", word, flagError(bad))
		}
	}
	ff.cmd.Flags().Visit(func(f *pflag.Flag) {
		if cmd.Flags().Lookup(f.Name) != nil {
			set(f.Name, f.Value.String())
		}
	})
	for part := range strings.SplitSeq(word, ",") {
		name, value, ok := strings.Cut(part, "=")
		near := nearestFlag(cmd, name)
		switch {
		case ok && cmd.Flags().Lookup(name) != nil && strings.TrimSpace(value) != "":
			set(name, value)
		case ok && near != "" && near != name:
			return nil, f, wrongUsage(cmd, "compare %q: there is no filter %s: did you mean %s?", word, name, near)
		case part == "failed" || part == "denied":
			set(part, "true")
		case ok || one.f.Trace != "" || !store.IsPrefix(part):
			return nil, f, wrongUsage(cmd, "compare %q: want a trace id of four digits or more, or filters such as model=opus or since=1w", word)
		default:
			one.f.Trace = part
		}
	}
	if err == nil {
		f, err = one.check()
	}
	return one, f, cmp.Or(err, one.ended(f))
}

// sideOf sums up the tasks of a side.
func sideOf(ctx context.Context, a *app, p *pipeline.Pipeline, name string, f store.Filter) (store.Group, error) {
	if f.Trace != "" {
		if _, err := p.Store.Trace(ctx, f.Trace); err != nil {
			return store.Group{}, noSuchTrace(ctx, a, p, f.Trace, err)
		}
	}
	return view.SideOf(ctx, p.Store, name, f)
}
