// Command loadgen plays a fleet of developers against an OTLP endpoint: sessions
// that were recorded of real agents, with fresh ids, delivered by the real
// `hookspan flush`. `loadgen -help` says how.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/hookspan/hookspan/tests/bench/fleet/crowd"
	"github.com/hookspan/hookspan/tests/internal/built"
)

const help = `Usage: loadgen -endpoint URL[,URL...] [flags]

Plays many developers on this machine. Each has a home folder below a
temporary folder, with a spool that holds sessions recorded of real agents (Cline
classic and SDK, Claude Code; 12 to 23 spans each) under fresh ids, and the agents' own
files of them. Then each session is delivered by a "hookspan flush" process of its
own, as when a task ends, some of them at the same time.

First everything is stored, then the clock starts. At the end one line of JSON
tells the sessions, spans, seconds, the processor time of all deliveries and the
peak memory of the largest. A span that was not taken is an error.

Run it within the module's folder; the recordings are read from there.

  go -C tests/bench run ./fleet/loadgen -developers 100 -endpoint http://127.0.0.1:4318
  go -C tests/bench run ./fleet/loadgen -developers 1000 -rate 50 -endpoint http://10.0.0.1:4318,http://10.0.0.2:4318

Flags:
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "loadgen: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	var p crowd.Play
	var endpoints, hookspan string
	fs := flag.NewFlagSet("loadgen", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() {
		fmt.Fprint(stderr, help)
		fs.PrintDefaults()
	}
	fs.StringVar(&endpoints, "endpoint", "", "where the spans go, without /v1/traces; several with commas between, among which the developers are dealt out")
	fs.IntVar(&p.Developers, "developers", 10, "how many developers")
	fs.IntVar(&p.Sessions, "sessions", 1, "how many sessions each of them has")
	fs.Float64Var(&p.Rate, "rate", 0, "deliveries that begin each second; 0 for as fast as they go")
	fs.IntVar(&p.AtOnce, "at-once", 8, "most deliveries at the same time")
	fs.BoolVar(&p.Day, "day", false, "deliver all that a developer has by one process, as after an outage, instead of each session by its own")
	fs.IntVar(&p.First, "first", 0, "number of the first session; the same number gives the same ids again")
	fs.StringVar(&p.Settings.Exporters, "exporters", "otlp", "HOOKSPAN_EXPORTERS of each developer; empty for the default, which keeps a local store too")
	fs.StringVar(&hookspan, "hookspan", "", "the program; if empty, it is built")
	fs.StringVar(&p.Dir, "dir", "", "folder for the homes, which stay there; if empty, a temporary one that is removed")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if endpoints == "" || fs.NArg() > 0 {
		return fmt.Errorf("-endpoint %q and %d arguments: want an endpoint such as http://127.0.0.1:4318 and no argument (loadgen -help)", endpoints, fs.NArg())
	}
	p.Settings.Endpoints = strings.Split(endpoints, ",")
	if p.Dir == "" {
		if p.Dir, err = os.MkdirTemp("", "hookspan-fleet-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(p.Dir)) }()
	}
	root, err := built.Root()
	if err != nil {
		return err
	}
	if hookspan == "" {
		p.Hookspan, err = built.Program(p.Dir, "hookspan"), built.Put(ctx, p.Dir, "cmd/hookspan")
	} else {
		// It runs in the developers' homes.
		p.Hookspan, err = filepath.Abs(hookspan)
	}
	if err != nil {
		return err
	}
	recordings, err := crowd.Recordings(root)
	if err != nil {
		return err
	}
	r, err := p.Run(ctx, recordings)
	if err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(r)
}
