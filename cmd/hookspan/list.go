package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/internal/agents"
	"github.com/hookspan/hookspan/internal/store"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/view"
)

func (a *app) listCmd() *cobra.Command {
	var f store.Filter
	var all, asJSON bool
	var since string
	cmd := &cobra.Command{
		Use: "list", Short: "List the traces on this machine, newest first",
		Long: `List the traces on this machine, newest first: the newest ` + strconv.Itoa(store.DefaultLimit) + `, with --json all of
them, or as many as -n says. Where traces are left out, standard error says how
many. On a terminal, lines fit its width: a narrow one shows fewer columns.`,
		Args: takes(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			limited := cmd.Flags().Changed("limit")
			switch {
			case f.Limit < 0:
				return wrongUsage(cmd, "--limit %d: want 1 or more, or 0 for all", f.Limit)
			case all && limited && f.Limit > 0:
				return wrongUsage(cmd, "--all and --limit %d: want one of them", f.Limit)
			case all || f.Limit == 0 || asJSON && !limited:
				f.Limit = -1
			}
			outcomes := []string{"", "completed", "cancelled", "interrupted", "failed", "abandoned"}
			if !slices.Contains(outcomes, f.Outcome) {
				return wrongUsage(cmd, "--outcome %q: want one of %s", f.Outcome, strings.Join(outcomes[1:], ", "))
			}
			var err error
			if f.Since, err = sinceWhen(since, a.now()); err != nil {
				return usageError{err, cmd}
			}
			return a.withStore(cmd.Context(), func(ctx context.Context, s *store.Store) (err error) {
				sums, err := s.List(ctx, f)
				if err != nil {
					return err
				}
				defer func() { err = errors.Join(err, a.leftOut(ctx, s, f, len(sums))) }()
				if asJSON {
					if sums == nil {
						sums = []store.Summary{}
					}
					return a.printJSON(sums)
				}
				if len(sums) == 0 {
					if f.Outcome != "" || f.Session != "" || since != "" {
						a.printf("no traces match\n")
						return nil
					}
					a.printf("no traces yet\n")
					a.hint(noTraces(a.agents))
					return nil
				}
				return view.List(a.stdout, sums, view.Options{
					Color: a.color(), Width: a.terminal(), Now: a.now(),
				})
			})
		},
	}
	cmd.Flags().IntVarP(&f.Limit, "limit", "n", store.DefaultLimit, "how many at most; 0 for all, as without it with --json")
	cmd.Flags().BoolVar(&all, "all", false, "all traces")
	cmd.Flags().StringVar(&f.Outcome, "outcome", "", "only those that ended so: completed, cancelled, interrupted, failed, abandoned")
	cmd.Flags().StringVar(&f.Session, "session", "", "only those of this session")
	cmd.Flags().StringVar(&since, "since", "", "only those that began since then: 30d, 24h, or a day such as 2026-01-31")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// leftOut reports on standard error how many traces a limit left out: a program
// may read standard output.
func (a *app) leftOut(ctx context.Context, s *store.Store, f store.Filter, shown int) error {
	if f.Limit < 0 || shown < f.Limit {
		return nil
	}
	n, err := s.Count(ctx, f)
	if err == nil && n > shown {
		a.hint(fmt.Sprintf("%d of %s; --all lists every one", shown, termtext.Plural(n, "trace")))
	}
	return err
}

func (a *app) showCmd() *cobra.Command {
	var verbose, asJSON, ascii bool
	cmd := &cobra.Command{
		Use:   "show [ID]",
		Short: "Show a trace as a tree, the newest if none is named",
		Long: `Show what the agent did in one task: tools, requests to the model, subagents,
errors, with durations, tokens and cost. ID is the beginning of a trace id, four
digits or more, as hookspan list prints it.`,
		Args: takes(1, "one trace id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id := ""
			if len(args) > 0 {
				id = args[0]
			}
			return a.withStore(cmd.Context(), func(ctx context.Context, s *store.Store) error {
				t, err := s.Trace(ctx, id)
				if err != nil {
					return a.noSuchTrace(ctx, s, id, err)
				}
				if asJSON {
					return a.printJSON(t)
				}
				return view.Tree(a.stdout, t, view.Options{
					Color: a.color(), Width: a.terminal(), Verbose: verbose, ASCII: ascii,
				})
			})
		},
	}
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "show ids and whole previews")
	cmd.Flags().BoolVar(&ascii, "ascii", false, "draw with ASCII characters alone")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// noTraces says what to do if there are no traces.
func noTraces(table agents.Table) string {
	return table.InstallCommands() + ", then work as usual; hookspan doctor says what is missing"
}

// noSuchTrace says why the trace that was asked for cannot be shown.
func (a *app) noSuchTrace(ctx context.Context, s *store.Store, id string, err error) error {
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
