package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

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
	defer func() { err = errors.Join(err, leftOut(ctx, a, s, f, len(sums))) }()
	switch {
	case ff.asJSON && sums == nil:
		return a.printJSON([]store.Summary{})
	case ff.asJSON:
		return a.printJSON(sums)
	case len(sums) > 0:
		return view.List(a.stdout, sums, a.viewOptions())
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

// leftOut reports on standard error how many traces a limit left out: a program
// may read standard output.
func leftOut(ctx context.Context, a *app, s *store.Store, f store.Filter, shown int) error {
	if f.Limit < 0 || shown < f.Limit {
		return nil
	}
	n, err := s.Count(ctx, f)
	if err == nil && n > shown {
		a.hint(fmt.Sprintf("%d of %s; --all lists every one", shown, termtext.Plural(n, "trace")))
	}
	return err
}

// noTraces says what to do if there are no traces.
func noTraces(table agents.Table) string {
	return table.InstallCommands() + ", then work as usual; hookspan doctor says what is missing"
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
