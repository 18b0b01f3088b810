package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

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
	ff.addSums()
	cmd.Flags().StringVar(&ff.f.Sort, "sort", "", "by "+strings.Join(store.Orders, ", ")+", the largest first, not by when they began")
	oneOf(cmd, "sort", store.Orders...)
	timeline := cmd.Flags().Bool("timeline", false, "draw the sessions side by side in time, where they worked and where they waited")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		switch by := ff.f.Sort; {
		case *timeline && (ff.asJSON || by != ""):
			return wrongUsage(cmd, "--timeline and --%s: want one of them", map[bool]string{true: "json", false: "sort"}[ff.asJSON])
		case by != "" && !slices.Contains(store.Orders, by):
			return wrongUsage(cmd, "--sort %q: want one of %s", by, strings.Join(store.Orders, ", "))
		}
		return ff.run(func(ctx context.Context, p *pipeline.Pipeline, f store.Filter) error {
			if *timeline {
				return drawTimeline(ctx, ff, p, f)
			}
			return listTraces(ctx, ff, p, f)
		})
	}
	return cmd
}

// listJSON is what --json --sums prints: the tasks, those that run first, where the words of --grep
// are, and the sums over all that have ended, listed or not.
type listJSON struct {
	Tasks  []store.Summary `json:"tasks"`
	Hits   []store.Hit     `json:"hits,omitempty"`
	Totals store.Totals    `json:"totals"`
}

func listTraces(ctx context.Context, ff *filterFlags, p *pipeline.Pipeline, f store.Filter) (err error) {
	a := ff.app
	tasks := a.running(ctx, p)
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
	case ff.sums:
		return a.printJSON(listJSON{append([]store.Summary{}, sums...), page.Hits, all})
	case ff.asJSON:
		return a.printJSON(append([]store.Summary{}, sums...))
	case len(sums) > 0:
		notes, err := view.NotesOf(ctx, p.Store, f, &page, tasks)
		if err != nil {
			return err
		}
		o := a.viewOptions()
		if f.Failed && f.Outcome == "" {
			f.Outcome = "failed"
			n, _ := p.Store.Count(ctx, f) // the page could be read, too
			o.Selected = fmt.Sprintf(" with failed calls; %d failed: --outcome failed", n)
			if o.Width == 0 {
				defer a.hint(termtext.Plural(all.Traces, "task") + o.Selected)
			}
		}
		defer a.hintSkipped(ctx)
		return view.List(a.stdout, sums, len(running), notes, all, o)
	case ff.any():
		a.printf("no tasks match\n")
		a.hintNames(f.Model, f.Tool)
		a.hintSkipped(ctx)
	default:
		a.printf("no tasks yet\n")
		a.hint(noTracesYet(ctx, a))
		a.hintSkipped(ctx)
	}
	return nil
}

// hintNames says where the names of models or tools are if nothing matches such a filter.
func (a *app) hintNames(model, tool string) {
	if model != "" {
		a.hint("hookspan stats --by model lists the models")
	}
	if tool != "" {
		a.hint("hookspan stats --by tool lists the tools")
	}
}

// drawTimeline draws the selected tasks in time.
func drawTimeline(ctx context.Context, ff *filterFlags, p *pipeline.Pipeline, f store.Filter) error {
	var works []*store.Work
	left := 0
	err := p.Store.EachWork(ctx, f, ff.app.running(ctx, p), func(w *store.Work) error {
		if f.Limit >= 0 && ff.cmd.Flags().Changed("limit") && len(works) >= f.Limit {
			left++
			return nil
		}
		w.Calls, w.Requests, w.Subagents = nil, nil, nil
		works = append(works, w)
		return nil
	})
	if err != nil {
		return err
	}
	if left > 0 {
		defer ff.app.hint(fmt.Sprintf("%d of %s; --all draws every one", len(works), termtext.Plural(len(works)+left, "task")))
	}
	if len(works) == 0 {
		ff.app.printf("no tasks match\n")
	}
	return view.Timeline(ff.app.stdout, works, ff.app.viewOptions())
}

// running returns the tasks that run now. What is stored can be shown without them.
func (a *app) running(ctx context.Context, p *pipeline.Pipeline) []*store.Trace {
	tasks, err := p.Running(ctx)
	if err != nil {
		a.warnf("running tasks: %v", err)
	}
	return tasks
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
