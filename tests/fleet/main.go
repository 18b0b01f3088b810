// Command fleet measures what a fleet of developers costs the gateways: spans
// per second from many `hookspan flush` to one and two Collectors that run
// collector-config/gateway.yaml, their processor time and memory, and what an
// outage costs on disk. Beside it the same spans come from a plain loop of
// otlptracehttp.
//
//	go run ./tests/fleet [-part rates,costs,memory,queue,plan] [-developers 10,100,1000] [-tasks 4000] [-publish]
//
// It prints Markdown tables, and what it is at on standard error. With -publish
// it writes the tables into docs/results/scale.md and docs/scale.md; run it from the module's folder for
// that.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hookspan/hookspan/tests/internal/otelcol"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

func main() {
	// Who stops it wants its programs ended and its files removed.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "fleet: %v\n", err)
		os.Exit(1)
	}
}

type options struct {
	developers []int
	tasks      int
	publish    bool
}

// part is one table.
type part struct {
	// name is what -part calls it and what marks its place in the page.
	name string
	// page is where -publish writes the table.
	page string
	run  func(context.Context, *bench, options) (string, error)
}

func parts() []part {
	const results = "docs/results/scale.md"
	return []part{
		{"rates", results, rates},
		{"costs", results, costs},
		{"memory", results, memory},
		{"queue", results, queue},
		{"plan", "docs/scale.md", plan},
	}
}

var crowds = []int{10, 100, 1000}

func parse(args []string) (o options, chosen []part, err error) {
	var names, developers string
	fs := flag.NewFlagSet("fleet", flag.ContinueOnError)
	fs.StringVar(&names, "part", "rates,costs,memory,queue,plan", "the parts to run")
	fs.StringVar(&developers, "developers", "10,100,1000", "how many developers, one after the other")
	fs.IntVar(&o.tasks, "tasks", 4500, "tasks that the plain loop and the replay send, each time")
	fs.BoolVar(&o.publish, "publish", false, "write the tables into docs/")
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
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(parts(), func(p part) bool { return p.name == name })
		if i < 0 {
			return o, nil, fmt.Errorf("-part %q: want rates, costs, memory, queue, plan", name)
		}
		chosen = append(chosen, parts()[i])
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
			return fmt.Errorf("%s: %w", p.name, err)
		}
		text = fmt.Sprintf("%s, %s, %s\n\n%s", time.Now().UTC().Format(time.DateOnly), proof.Machine(), runtime.Version(), text)
		if _, err := fmt.Fprintf(out, "%s\n", text); err != nil {
			return err
		}
		if o.publish {
			if err := proof.PublishAt(".", p.page, p.name, text); err != nil {
				return err
			}
		}
		progress("%s done, %s since the start", p.name, time.Since(begin).Round(time.Second))
	}
	return nil
}

// run gives a part new ports: a block holds enough for one.
func (b *bench) run(ctx context.Context, p part, o options) (text string, err error) {
	if b.ports, err = otelcol.OpenPorts(); err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, b.ports.Close()) }()
	return p.run(ctx, b, o)
}

func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "fleet: "+format+"\n", args...)
}

// build makes the programs as a release is made.
func build(ctx context.Context, dir string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", dir+string(filepath.Separator),
		"github.com/hookspan/hookspan/cmd/hookspan",
		"github.com/hookspan/hookspan/tests/fleet/loadgen",
		"github.com/hookspan/hookspan/tests/fleet/sender",
		"github.com/hookspan/hookspan/tests/bench/receiver",
	)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	return nil
}
