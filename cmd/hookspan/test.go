package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/pipeline"
	"github.com/hookspan/hookspan/internal/termtext"
)

func testCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "test",
		Short: "Send a test trace to each destination and show what it answers",
		Long: `Send a small test trace to each destination, once, and show what it answers. The
trace has requests to a model, calls of which one fails, and a subagent. Its agent is
"hookspan" and its model "hookspan-test", which has no price; every span has hookspan.test=true, so that
gateways keep the trace and count it in no metric. It is removed from the local store again. A backend that is recognised by its address is named, with what its
pages show of a trace. With HOOKSPAN_METRICS the endpoint of metrics gets the gauge
hookspan.test.

With -v the payload is printed first, exactly as it is sent; it has no secrets. The exit
code is 1 when a destination did not take it, or a setting is wrong.`,
	}
	asJSON, verbose := jsonFlag(cmd), cmd.Flags().BoolP("verbose", "v", false, "print the payloads")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return runTest(cmd.Context(), a, *verbose, *asJSON) }
	return cmd
}

func runTest(ctx context.Context, a *app, verbose, asJSON bool) error {
	a.configProblems()
	p, err := a.setup().Open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = p.Close() }()
	trace, id := p.TestTrace()
	if len(p.Deliverer.Destinations) == 0 {
		return noDestination()
	}
	if !asJSON {
		a.printf("test trace %s, %s\n", id, termtext.Plural(otlp.Count(trace), "span"))
	}
	trials := []pipeline.Trial{}
	// A destination that a wrong setting keeps from being set up is not tried.
	failed := a.cfgErr != nil
	tried := func(t pipeline.Trial) {
		trials = append(trials, t)
		failed = failed || !t.OK
		if !asJSON {
			printTrial(a, t)
		}
	}
	for _, d := range p.Deliverer.Destinations {
		if verbose {
			if err := printPayload(a, p, d, trace, asJSON); err != nil {
				return err
			}
		}
		tried(p.Try(ctx, d, trace, id))
	}
	if a.cfg.MetricsOn() {
		tried(p.TryMetrics(ctx))
	}
	return a.result(asJSON, trials, !failed, func() {
		if failed {
			a.hint("hookspan config shows the settings and where each came from")
		}
	})
}

func printTrial(a *app, t pipeline.Trial) {
	mark := "ok"
	if !t.OK {
		mark = "FAILED"
	}
	a.printf("%-9s %-6s %s: %s (%.0f ms)\n", t.Destination, mark, t.Target, termtext.Value(t.Answer), t.Seconds*1000)
	if t.Backend != "" {
		a.printf("  This is %s. %s\n", t.Backend, t.Shows)
	}
	if t.Clock != "" {
		a.hint(t.Clock + ": its spans have the wrong time there; set the clock")
	}
}

func noDestination() error {
	return hinted{errors.New("no destination is set up"), "hookspan config shows the settings"}
}

func printPayload(a *app, p *pipeline.Pipeline, d deliver.Destination, trace []*tracepb.ResourceSpans, asJSON bool) error {
	body, err := p.Payload(d, trace)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, body, "", "  "); err != nil {
		return err
	}
	var to io.Writer = a.stdout
	if asJSON {
		to = a.stderr // the answers alone are for the other program
	}
	_, err = fmt.Fprintf(to, "--- payload for %s\n%s\n", d.Name, termtext.JSON(out.Bytes()))
	return err
}
