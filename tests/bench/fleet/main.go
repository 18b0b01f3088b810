// Command fleet measures what a fleet of developers costs the gateways: spans
// per second from many `hookspan flush` to one and two Collectors that run
// collector-config/gateway.yaml, their processor time and memory, and what an
// outage costs on disk. Beside it the same spans come from a plain loop of
// otlptracehttp.
//
//	go -C tests/bench run ./fleet [-part tasks,rates,costs,memory,queue,plan] [-developers 10,100,1000] [-tasks 4000] [-publish]
//
// It prints Markdown tables and saves them in dist/results; what it is at is on
// standard error. With -publish it writes the costs into docs/results/scale.md and
// the plan into docs/scale.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hookspan/hookspan/tests/internal/built"
	"github.com/hookspan/hookspan/tests/internal/measure"
	"github.com/hookspan/hookspan/tests/internal/otelcol"
)

func main() { measure.Main("fleet", run) }

type options struct {
	developers []int
	tasks      int
	publish    bool
}

// part makes one table.
type part = func(context.Context, *bench, options) (string, error)

func parts() []measure.Part[part] {
	return []measure.Part[part]{
		{Name: "tasks", Run: recorded},
		{Name: "rates", Run: rates},
		{Name: "costs", Page: "docs/results/scale.md", Run: costs},
		{Name: "memory", Run: memory},
		{Name: "queue", Run: queue},
		{Name: "plan", Page: "docs/scale.md", Run: plan},
	}
}

var crowds = []int{10, 100, 1000}

func parse(args []string) (o options, chosen []measure.Part[part], err error) {
	var names, developers string
	fs := flag.NewFlagSet("fleet", flag.ContinueOnError)
	fs.StringVar(&names, "part", "", "run these parts alone, with commas between: "+measure.Names(parts()))
	fs.StringVar(&developers, "developers", "10,100,1000", "how many developers, one after the other")
	fs.IntVar(&o.tasks, "tasks", 4500, "tasks that the plain loop and the replay send, each time")
	fs.BoolVar(&o.publish, "publish", false, "write the costs and the plan into docs/")
	if err := fs.Parse(args); err != nil {
		return o, nil, err
	}
	for word := range strings.SplitSeq(developers, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 {
			return o, nil, fmt.Errorf("-developers %q: want numbers such as 10,100,1000", developers)
		}
		o.developers = append(o.developers, n)
	}
	if chosen, err = measure.Choose(names, parts()); err != nil {
		return o, nil, err
	}
	if o.tasks < 100 || fs.NArg() > 0 {
		return o, nil, fmt.Errorf("-tasks %d and %d arguments: want at least 100 tasks and no argument", o.tasks, fs.NArg())
	}
	if o.publish && !slices.Equal(o.developers, crowds) {
		return o, nil, errors.New("-publish with other -developers would leave rows out: run all of them")
	}
	return o, chosen, nil
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	o, chosen, err := parse(args)
	if err != nil {
		return err
	}
	if runtime.GOOS != "linux" {
		return errors.New("memory and processor time of other processes, and their cores, are known on Linux alone: run this there")
	}
	begin := time.Now()
	dir, err := os.MkdirTemp("", "hookspan-fleet-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	b, err := newBench(ctx, dir)
	if err != nil {
		return err
	}
	for _, p := range chosen {
		text, err := b.run(ctx, p, o)
		if err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
		page := ""
		if o.publish {
			page = p.Page
		}
		if err := measure.Show(out, page, p.Name, text); err != nil {
			return err
		}
		progress("%s done, %s since the start", p.Name, time.Since(begin).Round(time.Second))
	}
	return nil
}

// run gives a part new ports: a block holds enough for one.
func (b *bench) run(ctx context.Context, p measure.Part[part], o options) (text string, err error) {
	if b.ports, err = otelcol.OpenPorts(); err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, b.ports.Close()) }()
	return p.Run(ctx, b, o)
}

func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "fleet: "+format+"\n", args...)
}

func build(ctx context.Context, dir string) error {
	return built.Put(ctx, dir, "cmd/hookspan", "tests/bench/fleet/loadgen", "tests/bench/fleet/sender", "tests/internal/measure/receiver")
}
