package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/pipeline"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
)

func listCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List the tasks on this machine, newest first",
		Long: `List the tasks on this machine, newest first: the newest ` + strconv.Itoa(store.DefaultLimit) + `, with --json all of
them, or as many as -n says. Where tasks are left out, standard error says how
many. On a terminal, lines fit its width: a narrow one shows fewer columns. Below a
task, --grep shows where the words are, --denied what was denied by whom, and why.`,
	}
	ff := addFilterFlags(a, cmd)
	ff.addListing()
	timeline := cmd.Flags().Bool("timeline", false, "draw the sessions side by side in time, where they worked and where they waited")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *timeline && ff.asJSON {
			return wrongUsage(cmd, "--timeline and --json: want one of them")
		}
		return ff.runAll(func(ctx context.Context, p *pipeline.Pipeline, f store.Filter) error {
			if *timeline {
				return drawTimeline(ctx, ff, p, f)
			}
			return listTraces(ctx, ff, p, f)
		})
	}
	return cmd
}

func listTraces(ctx context.Context, ff *filterFlags, p *pipeline.Pipeline, f store.Filter) (err error) {
	a := ff.app
	tasks, err := p.Running(ctx)
	if err != nil {
		a.warnf("running tasks: %v", err) // what is stored can be listed all the same
	}
	page, err := p.Store.Page(ctx, f, tasks...)
	if err != nil {
		return err
	}
	running, sums, all := page.Running, page.Traces, page.Totals
	// A program may read standard output.
	if all.Traces > len(sums) && (ff.asJSON || a.terminal() == 0) {
		defer a.hint(fmt.Sprintf("%d of %s; --all lists every one", len(sums), termtext.Plural(all.Traces, "task")))
	}
	sums = append(running, sums...)
	switch {
	case ff.asJSON && sums == nil:
		return a.printJSON([]store.Summary{})
	case ff.asJSON:
		return a.printJSON(sums)
	case len(sums) > 0:
		var denied []store.HookRun
		var calls map[string][]*tracepb.Span
		if f.Denied && len(page.Traces) > 0 {
			f.Since, f.Limit = page.Traces[len(page.Traces)-1].Started, -1 // the others are older
			f.Failed = false                                               // a hook that denies has not failed
			if denied, err = p.Store.HookRuns(ctx, f); err != nil {
				return err
			}
			if calls, err = p.Store.DeniedCalls(ctx, f, page.Traces); err != nil {
				return err
			}
		}
		notes := view.Notes(page.Hits, f.Text, denied, calls)
		return view.List(a.stdout, sums, len(running), notes, all, a.viewOptions())
	case ff.any():
		a.printf("no tasks match\n")
	default:
		a.printf("no tasks yet\n")
		a.hint(noTracesYet(ctx, a))
	}
	return nil
}

// drawTimeline draws the selected tasks in time.
func drawTimeline(ctx context.Context, ff *filterFlags, p *pipeline.Pipeline, f store.Filter) error {
	tasks, err := p.Running(ctx)
	if err != nil {
		ff.app.warnf("running tasks: %v", err)
	}
	var works []*store.Work
	left := 0
	err = p.Store.EachWork(ctx, f, tasks, func(w *store.Work) error {
		if f.Limit >= 0 && ff.cmd.Flags().Changed("limit") && len(works) >= f.Limit {
			left++
			return nil
		}
		w.Requests, w.Subagents = nil, nil
		works = append(works, w)
		return nil
	})
	if err != nil {
		return err
	}
	if left > 0 {
		defer ff.app.hint(fmt.Sprintf("%d of %s; --all draws every one", len(works), termtext.Plural(len(works)+left, "trace")))
	}
	if len(works) == 0 {
		ff.app.printf("no tasks match\n")
	}
	return view.Timeline(ff.app.stdout, works, ff.app.viewOptions())
}

// viewOptions are for what is drawn on standard output.
func (a *app) viewOptions() view.Options {
	return view.Options{Color: a.color(), Width: a.terminal(), Now: a.now()}
}

// noTraces says what to do if there are no traces.
const noTraces = "run hookspan install, then work as usual; hookspan doctor says what is missing"

// withStore calls f with the local store, which is up to date.
func (a *app) withStore(ctx context.Context, f func(context.Context, *store.Store) error) error {
	return withPipeline(ctx, a, func(ctx context.Context, p *pipeline.Pipeline) error { return f(ctx, p.Store) })
}
