package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/internal/agents"
	"github.com/hookspan/hookspan/internal/store"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/view"
)

func listCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List the traces on this machine, newest first",
		Long: `List the traces on this machine, newest first: the newest ` + strconv.Itoa(store.DefaultLimit) + `, with --json all of
them, or as many as -n says. Where traces are left out, standard error says how
many. On a terminal, lines fit its width: a narrow one shows fewer columns.`,
	}
	ff := addFilterFlags(a, cmd)
	ff.addListing()
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return ff.run(func(ctx context.Context, s *store.Store, f store.Filter) error { return listTraces(ctx, ff, s, f) })
	}
	return cmd
}

func listTraces(ctx context.Context, ff *filterFlags, s *store.Store, f store.Filter) (err error) {
	a := ff.app
	sums, err := s.List(ctx, f)
	if err != nil {
		return err
	}
	all, err := s.Totals(ctx, f)
	if err != nil {
		return err
	}
	// A program may read standard output.
	if all.Traces > len(sums) && (ff.asJSON || a.terminal() == 0) {
		defer a.hint(fmt.Sprintf("%d of %s; --all lists every one", len(sums), termtext.Plural(all.Traces, "trace")))
	}
	switch {
	case ff.asJSON && sums == nil:
		return a.printJSON([]store.Summary{})
	case ff.asJSON:
		return a.printJSON(sums)
	case len(sums) > 0:
		return view.List(a.stdout, sums, all, a.viewOptions())
	case ff.any():
		a.printf("no traces match\n")
	default:
		a.printf("no traces yet\n")
		a.hint(noTraces(a.agents))
	}
	return nil
}

// viewOptions are for what is drawn on standard output.
func (a *app) viewOptions() view.Options {
	return view.Options{Color: a.color(), Width: a.terminal(), Now: a.now()}
}

func showCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show [ID]",
		Short: "Show a trace as a tree, the newest if none is named",
		Long: `Show what the agent did in one task: tools, requests to the model, subagents,
errors, with durations, tokens and cost. ID is the beginning of a trace id, four
digits or more, as hookspan list prints it.`,
		Args: takes(1, "one trace id"), ValidArgsFunction: completeTraces(a),
	}
	asJSON := jsonFlag(cmd)
	verbose := cmd.Flags().BoolP("verbose", "v", false, "show ids and whole previews")
	ascii := cmd.Flags().Bool("ascii", false, "draw with ASCII characters alone")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id := strings.Join(args, "")
		return a.withStore(cmd.Context(), func(ctx context.Context, s *store.Store) error {
			t, err := s.Trace(ctx, id)
			if err != nil {
				return noSuchTrace(ctx, a, s, id, err)
			}
			if *asJSON {
				return a.printJSON(t)
			}
			o := a.viewOptions()
			o.Verbose, o.ASCII = *verbose, *ascii
			return view.Tree(a.stdout, t, o)
		})
	}
	return cmd
}

// noTraces says what to do if there are no traces.
func noTraces(table agents.Table) string {
	return table.InstallCommands() + ", then work as usual; hookspan doctor says what is missing"
}

// noSuchTrace says why the trace that was asked for cannot be shown.
func noSuchTrace(ctx context.Context, a *app, s *store.Store, id string, err error) error {
	if some, lerr := s.List(ctx, store.Filter{Limit: 1}); lerr == nil && len(some) == 0 {
		return hinted{errors.New("no traces yet"), noTraces(a.agents)}
	}
	var several *store.AmbiguousError
	switch {
	case errors.Is(err, store.ErrNotFound):
		return hinted{fmt.Errorf("no trace begins with %q", id), "hookspan list prints the ids"}
	case errors.As(err, &several):
		a.warnf("several traces begin with %q:", id)
		for _, c := range several.Candidates {
			_, _ = fmt.Fprintf(a.stderr, "  %s  %s\n", termtext.Value(c.TraceID), termtext.Value(c.Title))
		}
		if several.More {
			_, _ = fmt.Fprintf(a.stderr, "  and others\n")
		}
		a.hint("give more digits")
		return exitError(1)
	case errors.Is(err, store.ErrPrefix):
		return hinted{err, "hookspan list prints the ids"}
	}
	return err
}

// withStore calls f with the local store, which is up to date.
func (a *app) withStore(ctx context.Context, f func(context.Context, *store.Store) error) error {
	a.configProblems()
	p, err := a.setup().OpenStore(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = p.Close() }()
	return f(ctx, p.Store)
}
