// Command bench measures what hookspan costs, part by part: what a hook call
// costs the agent that waits for it, how fast a backlog is delivered, and how far
// each of that is from what the machine allows.
//
//	go -C tests/bench run . [-part hooks,flush] [-n 300] [-most 1000000] [-only NAME] [-check] [-publish]
//
// It prints Markdown tables and saves them in dist/results. All that is compared
// with each other takes turns in one run, so that the ratios hold whatever else the
// machine is busy with. With -check it fails when a budget is broken, with -publish
// it writes the promises into docs/results/performance.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hookspan/hookspan/tests/internal/built"
	"github.com/hookspan/hookspan/tests/internal/measure"
)

func main() { measure.Main("bench", run) }

type options struct {
	rounds, most   int
	only           string
	check, publish bool
}

// part makes one table.
type part = func(context.Context, *field, options) (report, error)

// report is what came of a part: what the page shows, the promises it is held to,
// and what it adds to the short table.
type report struct {
	text    string
	budgets []budget
	lines   []line
}

func parts() []measure.Part[part] {
	return []measure.Part[part]{
		{Name: "hooks", Run: hookCalls},
		{Name: "flush", Run: backlogs},
		{Name: "stages", Run: stages},
		{Name: "turns", Run: turns},
		{Name: "ends", Run: ends},
		{Name: "transcripts", Run: transcripts},
		{Name: "imports", Run: imports},
		{Name: "growth", Run: growth},
		{Name: "limits", Run: limits},
		{Name: "ask", Run: ask},
		{Name: "ui", Run: thePage},
	}
}

var errBudget = errors.New("a budget is broken")

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	o, chosen, err := parse(args)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "hookspan-bench")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := build(ctx, dir); err != nil {
		return err
	}
	if err := adopt(); err != nil {
		return err
	}
	var all []budget
	var lines []line
	for _, p := range chosen {
		f, err := newField(filepath.Join(dir, p.Name), dir)
		if err != nil {
			return err
		}
		begin := time.Now()
		r, err := p.Run(ctx, f, o)
		if err := errors.Join(err, f.close()); err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
		fmt.Fprintf(os.Stderr, "bench: %s took %s\n", p.Name, time.Since(begin).Round(time.Second))
		all, lines = append(all, r.budgets...), append(lines, r.lines...)
		if err := measure.Show(out, "", p.Name, r.text); err != nil {
			return err
		}
	}
	if len(chosen) == len(parts()) {
		// Some of the promises alone would look like all of them.
		kept := ""
		if o.publish {
			kept = page
		}
		err = errors.Join(measure.Show(out, kept, promises, verdicts(all)), measure.Show(out, "", short, shortTable(lines)))
	} else {
		_, err = fmt.Fprintf(out, "%s\n%s\n", verdicts(all), shortTable(lines))
	}
	if err == nil && o.check && slices.ContainsFunc(all, budget.broken) {
		err = errBudget
	}
	return err
}

// page has the promises; promises and short are the names of the tables that have the
// verdicts and what matters most of all parts.
const (
	page     = "docs/results/performance.md"
	promises = "promises"
	short    = "short"
)

// parse reads the command line into options and the parts to run.
func parse(args []string) (o options, chosen []measure.Part[part], err error) {
	var names string
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.IntVar(&o.rounds, "n", 300, "how often each contestant among the hook calls runs")
	fs.IntVar(&o.most, "most", 1_000_000, "events in the largest backlog")
	fs.StringVar(&o.only, "only", "", "leave out the rows whose name does not hold this, except those that others are compared with")
	fs.StringVar(&names, "part", "", "run these parts alone, with commas between: "+measure.Names(parts()))
	fs.BoolVar(&o.check, "check", false, "fail when a budget is broken")
	fs.BoolVar(&o.publish, "publish", false, "write the promises into "+page)
	if err := fs.Parse(args); err != nil {
		return o, nil, err
	}
	if o.rounds < 1 || o.most < 10_000 || fs.NArg() > 0 {
		return o, nil, fmt.Errorf("-n %d, -most %d and %d arguments: want at least one round, 10000 events and no argument", o.rounds, o.most, fs.NArg())
	}
	if o.publish && (names != "" || o.only != "" || o.most < 1_000_000) {
		return o, nil, errors.New("-publish with -part, -only or a smaller -most would leave promises out: run all of it")
	}
	chosen, err = measure.Choose(names, parts())
	return o, chosen, err
}

func build(ctx context.Context, dir string) error {
	return built.Put(ctx, dir, "cmd/cline-hook", "cmd/claude-hook", "cmd/hook-runner", "cmd/hookspan", "internal/testkit/launch",
		"tests/internal/measure/receiver", "tests/bench/noop", "tests/bench/plainloop", "tests/bench/transcript")
}
