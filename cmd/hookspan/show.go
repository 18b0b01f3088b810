package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/internal/store"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/view"
)

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
